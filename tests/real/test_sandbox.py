"""The sandbox mode of a request is the one that the real CLI keeps, in a new session and in a resumed one."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter.testing import Shell, answer, script

from .stage import Stage

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
