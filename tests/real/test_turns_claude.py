"""Test what only the harness of Claude Code does, with the real CLI."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.spaces import Server
from codex_adapter.testing import McpCall, RawItem, Shell, answer, script

from ..needs import without
from .claude_stage import ClaudeStage, claude_for_turns
from .conversation import Conversation, digests, environment, everything, hooked, skill, well

pytestmark = [pytest.mark.real, pytest.mark.rule("U14")]

NONE = pytest.param(None, marks=without("claude"))


@pytest.fixture(params=list[object](claude_for_turns()) or [NONE], ids=str)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> ClaudeStage:
    return ClaudeStage(request.param, tmp_path)


@pytest.fixture
def conversation(stage: ClaudeStage) -> Conversation:
    return Conversation(stage)


def use(name: str) -> RawItem:
    """A call of the tool by which the model loads a skill."""
    return RawItem({"type": "tool_use", "name": "Skill", "input": {"skill": name}})


@pytest.mark.rule("U15")
async def test_an_environment_is_used_and_gone_from_the_next_turn(
    stage: ClaudeStage, conversation: Conversation
) -> None:
    first_steps = (use("greeting"), McpCall("scripted", "destructive"), "used")
    with stage.model(script(*first_steps, use("greeting"), McpCall("scripted", "destructive"), "gone")) as model:
        first = await conversation.turn(everything(stage))
        begun, used = model.requests[0], model.requests[-1]
        hooked_first = hooked(stage)
        session = conversation.session
        second = await conversation.turn(prompt="And now?")
        last = model.requests[-1]
    assert well(first).final_text == "used"
    assert "greeting: How one greets." in stage.sent(begun)
    assert "Be brief, says the space." in stage.sent(begun)
    assert "Say ahoy." in stage.sent(used)
    assert "destroyed" in stage.sent(used)
    assert hooked_first == ["before_tool", "before_tool"]

    assert well(second).final_text == "gone"
    assert conversation.session == session
    assert hooked(stage) == hooked_first
    assert "Unknown skill: greeting" in stage.sent(last)
    assert "No such tool available: mcp__scripted__destructive" in stage.sent(last)
    assert not {"skills", "CLAUDE.md"} & {path.name for path in conversation.home.iterdir()}


@pytest.mark.parametrize("permissions", ["read-only", "workspace-write", "full"])
@pytest.mark.parametrize("inside", ["", "below"])
async def test_settings_hooks_and_servers_of_the_project_do_not_count(
    stage: ClaudeStage, conversation: Conversation, permissions: Any, inside: str
) -> None:
    subprocess.run(["git", "init", "-q", stage.workspace], check=True)  # noqa: ASYNC221 - quick
    cwd = stage.workspace / inside
    command = f"echo own >> {stage.root}/hooked"
    hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}
    for directory in {stage.workspace, cwd}:
        (directory / ".claude" / "skills" / "own").mkdir(parents=True)
        (directory / ".claude" / "skills" / "own" / "SKILL.md").write_text("---\ndescription: OF-PROJECT\n---\n")
        (directory / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks, "model": "haiku"}))
        (directory / ".mcp.json").write_text(
            json.dumps({"mcpServers": {"own": {"command": "sh", "args": ["-c", command]}}})
        )
        (directory / "CLAUDE.md").write_text("OF-PROJECT")
    with stage.model(script(fallback=answer("done"))) as model:
        for _ in range(2):
            well(await conversation.turn(environment(permissions=permissions), cwd=str(cwd)))
        assert all("opus" in request["model"] for request in model.requests)
        assert not any("OF-PROJECT" in stage.sent(request) for request in model.requests)
    assert hooked(stage) == []


async def test_the_users_own_configuration_is_neither_seen_nor_changed(
    stage: ClaudeStage, conversation: Conversation
) -> None:
    command = f"touch {stage.root}/hooked"
    (stage.home / "skills" / "own").mkdir(parents=True)
    (stage.home / "skills" / "own" / "SKILL.md").write_text("---\ndescription: OF-USER\n---\n")
    (stage.home / "CLAUDE.md").write_text("OF-USER")
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}
    (stage.home / "settings.json").write_text(json.dumps({"hooks": hooks, "permissions": {"deny": ["Bash(echo:*)"]}}))
    (stage.home / ".claude.json").write_text(
        json.dumps({"mcpServers": {"own": {"command": "sh", "args": ["-c", command]}}})
    )
    before = digests(stage.home)
    with stage.model(script(Shell("echo hi"), "done")) as model:
        well(await conversation.turn())
        assert not any("OF-USER" in stage.sent(request) for request in model.requests)
        assert "has been denied" in stage.sent(model.requests[-1])
    assert digests(stage.home) == before
    assert hooked(stage) == []


@pytest.mark.rule("U15")
async def test_a_server_that_starts_slowly_is_waited_for(stage: ClaudeStage, conversation: Conversation) -> None:
    [quick] = everything(stage).servers
    words = " ".join([str(quick.command), *quick.args])
    slow = Server(
        name="scripted", command="sh", args=("-c", f"sleep 4; exec {words}"), env={}, cwd="/", url=None, space="one"
    )
    with stage.model(script(McpCall("scripted", "echo", {"text": "ahoy"}), "done")) as model:
        well(await conversation.turn(environment(servers=(slow,))))
        assert "echo: ahoy" in stage.sent(model.requests[-1])


@pytest.mark.rule("U15")
@pytest.mark.parametrize("permissions", ["read-only", "workspace-write"])
async def test_an_agent_cannot_change_its_configuration(
    stage: ClaudeStage, conversation: Conversation, permissions: Any
) -> None:
    home = conversation.home
    (stage.workspace / "try.sh").write_text(f"touch {home}/x {home}/projects/x {home}/skills/x; echo over")
    write = RawItem({"type": "tool_use", "name": "Write", "input": {"file_path": f"{home}/skills/y", "content": "y"}})
    given = environment(permissions=permissions, skills=(skill(stage),))
    with stage.model(script(Shell("sh try.sh"), write, "done")) as model:
        well(await conversation.turn(given))
        assert "over" in stage.sent(model.requests[-1])
    assert not [path for path in home.rglob("*") if path.name in ("x", "y")]


@pytest.mark.rule("U5")
async def test_the_models_are_those_that_the_cli_lists(stage: ClaudeStage) -> None:
    models = await stage.harness().models()
    assert models is not None
    assert models[0] == "api/opus"
    assert {"api/sonnet", "api/haiku"} < set(models)
