"""Test the npm launcher script: replaced by the native CLI, or contained if it must run itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from codex_adapter import RunCancelled
from codex_adapter.testing import Shell, answer, script

from ..needs import has_no_such_case, missing
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("S6")]


@pytest.fixture
def launcher(stage: Stage) -> Path:
    """The launcher script of a release from npm."""
    if stage.release.launcher is None or not stage.release.launcher.exists():
        has_no_such_case("a release from a wheel has no launcher: set CODEX_RELEASES")
    return stage.release.launcher


@pytest.fixture
def by_node(stage: Stage, launcher: Path) -> str:
    """A program of another name that runs the launcher, so that nothing is exchanged."""
    if shutil.which("node") is None:
        missing("node")
    program = stage.root / "codex-by-node"
    program.write_text(f'#!/bin/sh\nexec node {launcher} "$@"\n')
    program.chmod(0o755)
    return str(program)


def same_file(one: str, other: Path) -> bool:
    """Whether both paths name one file."""
    return Path(one).samefile(other)


async def test_the_native_cli_runs_in_place_of_its_launcher(stage: Stage, launcher: Path) -> None:
    with stage.model(script(answer("Done.", gate="go on"))) as server:
        async with stage.running(binary=str(launcher)) as run:
            await stage.asked(server)
            assert same_file(stage.oracle.agent().argv[0], stage.release.binary)
            assert not [process for process in stage.oracle.look() if process.argv[0] == "node"]
            server.open_gate("go on")
            outcome = await stage.outcome(run)
    assert outcome.completion is not None
    assert outcome.completion.final_text == "Done."


async def test_a_launcher_on_the_path_is_found(stage: Stage, launcher: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_BINARY", raising=False)
    path = f"{launcher.parents[3] / '.bin'}:{os.environ['PATH']}"
    with stage.model(script(answer("Done.", gate="go on"))) as server:
        async with stage.running(stage.request(env={"PATH": path}), binary="codex") as run:
            await stage.asked(server)
            assert same_file(stage.oracle.agent().argv[0], stage.release.binary)
            server.open_gate("go on")
            await stage.outcome(run)


@pytest.mark.rule("F2")
async def test_a_run_through_node_works(stage: Stage, by_node: str) -> None:
    with stage.model(script(Shell("echo x > done"), "Done.")):
        outcome = await stage.run(binary=by_node)
    assert outcome.completion is not None
    assert (outcome.completion.final_text, outcome.completion.status.success) == ("Done.", True)
    assert (stage.workspace / "done").exists()


@pytest.mark.rule("K3", "K4")
@pytest.mark.parametrize("mode", ["workspace-write", "danger-full-access"])
@pytest.mark.parametrize("at_once", [False, True])
async def test_a_run_through_node_is_ended_completely(at_once: bool, mode: str, stage: Stage, by_node: str) -> None:
    fifo = stage.fifo()
    with stage.model(script(Shell("sleep 601 & (setsid sleep 602 &); echo up > fifo; sleep 603"), "never")):
        async with stage.running(stage.sandboxed(mode), binary=by_node) as run:
            await stage.told(fifo)
            if at_once:
                run.kill()
            else:
                run.cancel()
            outcome = await stage.outcome(run)
    assert isinstance(outcome.error, RunCancelled)
    assert outcome.seconds < 3.0


@pytest.mark.rule("F7", "K4")
async def test_a_launcher_that_dies_leaves_no_native_cli(stage: Stage, by_node: str) -> None:
    fifo = stage.fifo()
    with stage.model(script(Shell("echo up > fifo; sleep 603"), "never")):
        async with stage.running(binary=by_node) as run:
            await stage.told(fifo)
            stage.signal("KILL", to="node")
            outcome = await stage.outcome(run)
    assert outcome.completion is not None
    assert outcome.completion.status.signal == "SIGKILL"
    assert outcome.seconds < 5.0
