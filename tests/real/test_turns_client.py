"""Test turns of the client with the real CLI: spaces of users, in one turn and not in the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codex_adapter.protocols.turns.client import create_agent_spaces_client
from codex_adapter.protocols.turns.messages import DescribeRequest, RunTurnRequest, SpaceSpec
from codex_adapter.testing import MCP_SERVER, McpCall, Shell, answer, script

from ..protocols.turns.event_rules import check_events, check_response
from ..protocols.turns.listener import Listener
from ..waiting import SOON
from .house import settings, turn_program
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("U8", "U9", "U10", "Z2")]


def write_spaces(stage: Stage) -> Path:
    """An `aspHome` with a plain space, and one that has everything, which needs it."""
    registry = stage.root / "asp" / "registry"
    plain = registry / "plain" / "1.0.0"
    plain.mkdir(parents=True)
    (plain / "space.toml").write_text('schema = 1\nid = "plain"\nversion = "1.0.0"\n' + settings(stage))
    (plain / "AGENTS.md").write_text("Be plain.\n")
    full = registry / "full" / "dev"
    for name in ("skills/greeting", "hooks", "mcp"):
        (full / name).mkdir(parents=True)
    (full / "space.toml").write_text('schema = 1\nid = "full"\ndeps = ["space:plain@^1"]\n')
    (full / "skills" / "greeting" / "SKILL.md").write_text("---\ndescription: How one greets.\n---\nSay ahoy.\n")
    (full / "note.sh").write_text('cat >/dev/null\necho "$1" >> "$2"\n')
    hook = (
        f'[[hook]]\nname = "note"\nevent = "after_tool"\ncommand = "sh ${{SPACE}}/note.sh noted {stage.root}/noted"\n'
    )
    (full / "hooks" / "hooks.toml").write_text(f"schema = 1\n{hook}")
    arguments = ["-I", "-S", MCP_SERVER, "ok", stage.oracle.word]
    servers = {"mcpServers": {"scripted": {"command": sys.executable, "args": arguments}}}
    (full / "mcp" / "mcp.json").write_text(json.dumps(servers))
    return stage.root / "asp"


def request(stage: Stage, space: str, **fields: Any) -> RunTurnRequest:
    """A turn."""
    return RunTurnRequest(
        **{
            "external_session_id": "talk",
            "external_run_id": "turn",
            "asp_home": str(stage.root / "asp"),
            "spec": SpaceSpec(spaces=(space,)),
            "harness": stage.harness_id,
            "cwd": str(stage.workspace),
            "env": stage.env,
            "prompt": "Do it.",
            **fields,
        }
    )


async def turn(stage: Stage, asked: RunTurnRequest) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A turn by a client of its own, that goes as the protocol says: its response and its events."""
    listener = Listener()
    client = create_agent_spaces_client([stage.harness()])
    response = await client.run_turn(asked, listener.callbacks)
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(response))
    check_events(listener.told, "talk", "turn", prompt=asked.prompt, key=asked.harness_session_id)
    check_response(told, listener.told)
    stage.oracle.check()
    return told, listener.told


async def test_what_a_space_has_is_used_and_gone_with_another_space(any_stage: Stage) -> None:
    stage = any_stage
    stage.release.needs(0, 147, what="other instructions within a conversation, hooks and servers")
    write_spaces(stage)
    read, call = Shell(f"cat {stage.skill_file}"), McpCall("scripted", "destructive")
    with stage.model(script(read, call, "used", Shell("echo again"), "gone")) as model:
        first, events = await turn(stage, request(stage, "space:full@dev"))
        begun = model.requests[0]
        second, _ = await turn(
            stage, request(stage, "space:plain", harness_session_id=first["harnessSessionId"], prompt="And now?")
        )
        last = model.requests[-1]
    assert (first["result"]["finalOutput"], second["result"]["finalOutput"]) == ("used", "gone")
    results = {event["toolName"]: event for event in events if event["type"] == "tool_result"}
    assert "Say ahoy." in results[stage.shell_tool]["output"]["output"]
    assert "destroyed" in json.dumps(results["scripted/destructive"]["output"])
    assert not any(event["isError"] for event in results.values())
    assert (stage.root / "noted").read_text() == "noted\nnoted\n"
    assert "Be plain." in stage.sent(begun)
    assert "greeting: How one greets." in stage.sent(begun)
    assert "mcp__scripted" in json.dumps(begun)
    assert "Be plain." in stage.sent(last)
    assert "mcp__scripted" not in json.dumps(last["tools"])
    assert first["harnessSessionId"] == second["harnessSessionId"]


@pytest.mark.rule("U11")
async def test_what_a_space_has_is_named(any_stage: Stage) -> None:
    stage = any_stage
    home = write_spaces(stage)
    client = create_agent_spaces_client([stage.harness()])
    found = await client.describe(DescribeRequest(asp_home=str(home), spec=SpaceSpec(spaces=("space:full",))))
    assert (found.hooks, found.skills, found.unanswered) == (("note",), ("greeting",), ())
    assert "scripted/destructive" in found.tools
    stage.oracle.check()


async def test_a_conversation_goes_on_after_its_process_was_killed_in_mid_turn(any_stage: Stage) -> None:
    stage = any_stage
    write_spaces(stage)
    with stage.model(script(Shell("echo one"), answer("held", gate="never"), "third")) as model:
        program = turn_program(stage, request(stage, "space:plain", prompt="One."))
        env = {**os.environ, **stage.env}
        with subprocess.Popen(program, env=env, stdout=subprocess.PIPE) as process:  # noqa: ASYNC220 - it is to be killed
            await stage.asked(model, 2)
            process.kill()
            events = [json.loads(line) for line in (process.stdout or []) if line.endswith(b"\n")]
        assert stage.oracle.wait_gone(SOON) == []
        keys = {event["harnessSessionId"] for event in events if "harnessSessionId" in event}
        assert len(keys) == 1
        second, _ = await turn(stage, request(stage, "space:plain", harness_session_id=keys.pop(), prompt="Two."))
        assert second["result"] == {"success": True, "finalOutput": "third"}
        sent = stage.sent(model.requests[2])
        assert [word for word in ("One.", "Two.") if word not in sent] == [], sent
