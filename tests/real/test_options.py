"""Test that the options of a request reach the argv of the real CLI and its model."""

from __future__ import annotations

import base64
import json
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codex_adapter import BackendError
from codex_adapter.agents.codex.command import trust_setting
from codex_adapter.testing import ModelServer, Shell, answer, script
from codex_adapter.testing.mcp_server import PIXEL

from .oracle import Process
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("S1")]

SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}


async def _agent_of(stage: Stage, server: ModelServer, extensions: dict[str, Any]) -> Process:
    """The CLI's process, caught while the model takes its time, and its run to the end."""
    async with stage.running(stage.request("The prompt.", extensions=extensions)) as run:
        await stage.asked(server)
        agent = stage.oracle.agent()
        server.open_gate("go on")
        outcome = await stage.outcome(run)
    assert outcome.completion is not None
    assert outcome.completion.final_text == "fine"
    return agent


def _without_shelter(argv: Sequence[str]) -> list[str]:
    """Leave out the settings that S11 adds for git."""
    own = ("shell_environment_policy.exclude=", "features.shell_snapshot=")
    places = {place for place, word in enumerate(argv) if word.startswith(own)}
    return [word for place, word in enumerate(argv) if not places & {place, place + 1}]


def _untrusted(directory: Path) -> str:
    return trust_setting([str(path) for path in (directory, *directory.parents)], trusted=False)


@pytest.mark.rule("S2", "S3")
async def test_a_plain_request_gives_the_shortest_argv_and_the_prompt_is_not_in_it(stage: Stage) -> None:
    with stage.model(script(answer("fine", gate="go on"))) as server:
        agent = await _agent_of(stage, server, {})
    argv = [str(stage.release.binary), "--ask-for-approval", "never", "exec", "--config"]
    argv += [
        _untrusted(stage.workspace),
        "--color",
        "never",
        "--json",
        "--skip-git-repo-check",
        "--sandbox",
        "workspace-write",
        "-",
    ]
    assert _without_shelter(agent.argv) == argv
    assert b"The prompt." not in agent.environment


@pytest.mark.rule("S2")
async def test_everything_at_once_arrives(stage: Stage) -> None:
    stage.release.needs(0, 59, what="--add-dir")
    image, extra = stage.workspace / "a picture.png", stage.root / "extra"
    image.write_bytes(base64.b64decode(PIXEL))
    extensions = {
        "agent_api.exec.non_interactive": False,
        "backend.codex.exec.approval_policy": "on-request",
        "backend.codex.exec.sandbox_mode": "read-only",
        "agent_api.config.model.v1": "another-model",
        "agent_api.exec.add_dirs.v1": {"dirs": ["../extra"]},
        "backend.codex.images": ["a picture.png"],
        "backend.codex.output_schema": SCHEMA,
    }
    with stage.model(script(answer("fine", gate="go on"))) as server:
        agent = await _agent_of(stage, server, extensions)
        [request] = server.requests
    schema = agent.argv[agent.argv.index("--output-schema") + 1]
    assert _without_shelter(agent.argv[1:]) == [
        *("--ask-for-approval", "on-request", "exec", "--config", _untrusted(stage.workspace), "--color", "never"),
        *("--json", "--image", str(image)),
        *("--skip-git-repo-check", "--sandbox", "read-only", "--model", "another-model"),
        *("--add-dir", str(extra), "--output-schema", schema, "-"),
    ]
    assert not Path(schema).parent.exists()
    assert request["model"] == "another-model"
    assert request["text"]["format"]["schema"] == SCHEMA
    assert f"data:image/png;base64,{PIXEL}" in json.dumps(request["input"])
    assert re.search("sandbox_mode(` is `|>)read-only", json.dumps(request["input"]))
    assert '"The prompt."' in json.dumps(request["input"])


async def test_without_a_policy_an_interactive_request_passes_none(stage: Stage) -> None:
    with stage.model(script(answer("fine", gate="go on"))) as server:
        agent = await _agent_of(stage, server, {"agent_api.exec.non_interactive": False})
    assert "--ask-for-approval" not in agent.argv


async def test_an_output_schema_is_in_a_private_file_during_the_run_alone(stage: Stage) -> None:
    with stage.model(script(answer('{"ok":true}', gate="go on"))) as server:
        request = stage.request(extensions={"backend.codex.output_schema": SCHEMA})
        async with stage.running(request) as run:
            await stage.asked(server)
            argv = stage.oracle.agent().argv
            file = Path(argv[argv.index("--output-schema") + 1])
            assert msgspec.json.decode(file.read_bytes()) == SCHEMA
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
            server.open_gate("go on")
            outcome = await stage.outcome(run)
    assert outcome.completion is not None
    assert outcome.completion.final_text == '{"ok":true}'
    assert not file.parent.exists()


@pytest.mark.rule("F14")
async def test_an_answer_that_ignores_its_output_schema_is_not_ok(stage: Stage) -> None:
    with stage.model(script("Plain text.")):
        outcome = await stage.run(stage.request(extensions={"backend.codex.output_schema": SCHEMA}))
    assert outcome.completion is not None
    assert (outcome.completion.turn, outcome.completion.final_text) == ("completed", "Plain text.")
    assert (outcome.completion.ok, outcome.completion.hint) == (False, "schema_ignored")


@pytest.mark.rule("K4")
async def test_the_file_of_an_output_schema_is_gone_after_a_cancelled_run(stage: Stage) -> None:
    with stage.model(script(answer("never", gate="never"))) as server:
        async with stage.running(stage.request(extensions={"backend.codex.output_schema": SCHEMA})) as run:
            await stage.asked(server)
            argv = stage.oracle.agent().argv
            run.cancel()
    assert not Path(argv[argv.index("--output-schema") + 1]).parent.exists()


async def test_options_hold_for_a_resumed_session_too(stage: Stage) -> None:
    stage.release.needs(0, 59, what="--add-dir")
    image = stage.workspace / "px.png"
    image.write_bytes(base64.b64decode(PIXEL))
    with stage.model(script("first", answer("fine", gate="go on"))) as server:
        first = await stage.run()
        assert first.completion is not None
        session = first.completion.session_id
        extensions = {
            "agent_api.session.resume.v1": {"selector": "id", "id": session},
            "backend.codex.exec.sandbox_mode": "read-only",
            "agent_api.config.model.v1": "another-model",
            "agent_api.exec.add_dirs.v1": {"dirs": ["../extra"]},
            "backend.codex.images": ["px.png"],
            "backend.codex.output_schema": SCHEMA,
        }
        async with stage.running(stage.request(extensions=extensions)) as run:
            await stage.asked(server, 2)
            agent = stage.oracle.agent()
            server.open_gate("go on")
            outcome = await stage.outcome(run)
        request = server.requests[-1]
    assert outcome.completion is not None
    assert outcome.completion.session_id == session
    assert agent.argv[-3:] == ("resume", session, "-")
    assert request["model"] == "another-model"
    assert request["text"]["format"]["schema"] == SCHEMA
    assert f"data:image/png;base64,{PIXEL}" in json.dumps(request["input"])


@pytest.mark.rule("S8")
@pytest.mark.parametrize(("policy", "until"), [("on-failure", (0, 143)), ("untrusted", (0, 149))])
async def test_a_policy_is_taken_by_the_releases_that_know_it_and_refused_for_the_others(
    policy: str, until: tuple[int, ...], stage: Stage
) -> None:
    extensions = {"agent_api.exec.non_interactive": False, "backend.codex.exec.approval_policy": policy}
    with stage.model(script(answer("fine", gate="go on"))) as server:
        if stage.release.before(*until):
            agent = await _agent_of(stage, server, extensions)
            assert agent.argv[1:3] == ("--ask-for-approval", policy)
        else:
            with pytest.raises(BackendError) as caught:
                await stage.run(stage.request(extensions=extensions))
            assert caught.value.failure == "invalid_request"
            assert server.requests == []


@pytest.mark.rule("S4", "S5")
async def test_commands_run_in_the_working_directory_with_the_environment_asked_for(stage: Stage) -> None:
    command = Shell('printf "%s|%s|%s" "$PWD" "$GREETING" "$RUST_LOG" > told')
    with stage.model(script(command, answer("Done.", delay=stage.release.pause))):
        await stage.run(stage.request(env={"GREETING": "héllo  wörld"}), env={"GREETING": "of the configuration"})
    assert (stage.workspace / "told").read_text() == f"{stage.workspace}|héllo  wörld|error"
