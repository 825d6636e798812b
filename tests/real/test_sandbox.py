"""Test that the real CLI keeps the sandbox mode in new and resumed sessions, and reports its failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from codex_adapter.agents.codex.advice import ADVICE as OF_CODEX
from codex_adapter.events import ToolCall
from codex_adapter.testing import Shell, answer, script

from ..attack.scene import launcher, needs_surrounding
from .stage import Stage

SANDBOX_FAILED = "codex sandbox cannot start: commands fail"

pytestmark = [pytest.mark.real, pytest.mark.rule("S1")]

MODE = "backend.codex.exec.sandbox_mode"
REACH = {"read-only": set(), "workspace-write": {"inside"}, "danger-full-access": {"inside", "outside"}}
"""Which of two files a command can write in each mode: one in the workspace, one beside it."""


async def _written(stage: Stage, mode: str | None, **extensions: Any) -> tuple[set[str], str]:
    """Which files a command in this mode has really written, and the session."""
    files = {"inside": stage.workspace / "inside.txt", "outside": stage.root / "extra" / "outside.txt"}
    for file in files.values():
        file.unlink(missing_ok=True)
    command = "; ".join(f"echo x > {file}" for file in files.values())
    with stage.model(script(Shell(command), answer("Done.", delay=stage.release.pause))):
        chosen = {} if mode is None else {MODE: mode}
        outcome = await stage.run(stage.request(extensions=chosen | extensions))
    assert outcome.completion is not None
    assert outcome.completion.final_text == "Done."
    assert outcome.completion.session_id is not None
    return {name for name, file in files.items() if file.exists()}, outcome.completion.session_id


@pytest.mark.parametrize(
    "mode", [pytest.param("read-only", marks=pytest.mark.smoke), "workspace-write", "danger-full-access"]
)
async def test_a_command_writes_just_where_the_mode_lets_it(mode: str, stage: Stage) -> None:
    written, _ = await _written(stage, mode)
    assert written == REACH[mode]


@pytest.mark.rule("Q3")
async def test_the_workspace_can_be_written_when_no_mode_is_named(stage: Stage) -> None:
    written, _ = await _written(stage, None)
    assert written == REACH["workspace-write"]


async def test_an_added_directory_can_be_written_too(stage: Stage) -> None:
    stage.release.needs(0, 59, what="--add-dir")
    added = {"agent_api.exec.add_dirs.v1": {"dirs": ["../extra"]}}
    written, _ = await _written(stage, "workspace-write", **added)
    assert written == {"inside", "outside"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("read-only", "workspace-write"),
        ("workspace-write", "read-only"),
        ("read-only", "danger-full-access"),
        ("danger-full-access", "read-only"),
        ("danger-full-access", "workspace-write"),
    ],
)
async def test_a_resumed_session_has_the_mode_of_its_own_request(first: str, second: str, stage: Stage) -> None:
    _, session = await _written(stage, first)
    resume = {"agent_api.session.resume.v1": {"selector": "id", "id": session}}
    written, resumed = await _written(stage, second, **resume)
    assert written == REACH[second]
    assert resumed == session


async def test_a_fork_has_the_mode_of_its_own_request(stage: Stage) -> None:
    stage.release.needs(0, 155, what="fork")
    _, session = await _written(stage, "danger-full-access")
    written, _ = await _written(stage, "read-only", **{"agent_api.session.fork.v1": {"selector": "id", "id": session}})
    assert written == REACH["read-only"]


@pytest.mark.smoke
@pytest.mark.rule("C4", "C7", "F11", "F12")
def test_a_sandbox_that_cannot_start_is_told_in_mid_run_and_at_the_end(stage: Stage) -> None:
    needs_surrounding("no_namespaces")
    surrounded = launcher("no_namespaces", stage.root)
    env = {**os.environ, **stage.request().env}
    options = ("--codex", str(stage.release.binary), "--codex-home", str(stage.home))
    adapter = (*surrounded, sys.executable, "-m", "codex_adapter")
    with stage.model(script(Shell("echo hello"), answer("Done.", delay=stage.release.pause))):
        command = (*adapter, "run", "--format", "jsonl", *options, "--working-dir", str(stage.workspace), "Do it.")
        done = subprocess.run(command, check=False, capture_output=True, env=env, timeout=60)
    doctor = subprocess.run(
        (*adapter, "doctor", "--json", *options), check=False, capture_output=True, env=env, timeout=60
    )
    # Releases whose sandbox is Landlock need no namespaces.
    works = json.loads(doctor.stdout)["agent_sandbox"]
    assert not works or stage.release.before(0, 115)
    *events, completion = map(json.loads, done.stdout.splitlines())
    notices = [event["data"] for event in events if event.get("message") == SANDBOX_FAILED]
    advice = None if works else OF_CODEX["sandbox_unavailable"]
    status = 0 if works else 1
    assert (done.returncode, completion["turn"], completion["final_text"]) == (status, "completed", "Done.")
    assert (completion["ok"], completion.get("advice")) == (works, advice)
    hinted = {"schema": "codex_adapter.hint.v1", "hint": "sandbox_unavailable", "advice": advice}
    assert notices == ([] if works else [hinted])
    assert done.stderr.decode() == ("" if works else f"codex-adapter: {advice}\n")


@pytest.mark.smoke
@pytest.mark.rule("F12", "C4")
async def test_a_home_in_the_temporary_directory_is_no_success(stage: Stage) -> None:
    stage.release.needs(0, 125, what="helper programs of the sandbox in CODEX_HOME")
    scenario = script(Shell("echo hello"), answer("Done.", delay=stage.release.pause))
    wide = {"backend.codex.exec.sandbox_mode": "danger-full-access"}
    with stage.model(scenario):
        outcome = await stage.run(stage.request(env={"TMPDIR": str(stage.root)}))
    with stage.model(scenario):
        outside = await stage.run(stage.request(env={"TMPDIR": str(stage.root)}, extensions=wide))
    assert outcome.completion is not None
    assert outside.completion is not None
    # With a bubblewrap of the system, the CLI does not start the command; with its own, it does.
    calls = [event.data.tool for event in outcome.events if isinstance(event.data, ToolCall)]
    began = any(call.exit_code == 0 for call in calls)
    hint = None if began else "sandbox_unavailable"
    assert (outcome.completion.turn, outcome.completion.ok, outcome.completion.hint) == ("completed", began, hint)
    assert outside.completion.hint is None
