"""Test that processes of an agent's commands end with the run, however it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_adapter import RunCancelled
from codex_adapter.testing import McpCall, Shell, answer, script

from ..needs import has_no_such_case, missing
from .claude_stage import installed_claude
from .pi_stage import installed_pi
from .releases import installed
from .stage import Stage
from .stages import stage_of

pytestmark = [pytest.mark.real, pytest.mark.rule("K4")]

MODES = ("workspace-write", "danger-full-access")
QUIET = ">/dev/null 2>&1 </dev/null"
LEAVING = {
    "in the background": f"sleep 601 {QUIET} &",
    "as an orphan": f"(sleep 602 {QUIET} &)",
    "in a session of its own": f"(setsid sleep 603 {QUIET} &)",
    "deaf to signals": f"(trap '' INT TERM HUP; setsid sleep 604 {QUIET} &)",
}


@pytest.fixture(params=list[object]([*installed(), *installed_claude()[:1], *installed_pi()[:1]]) or [None], ids=str)
def each_stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    """A place for runs of each agent in turn."""
    if request.param is None:
        missing("codex")
    return stage_of(request.param, tmp_path)


def _in_mode(stage: Stage, mode: str) -> None:
    if mode not in stage.modes:
        has_no_such_case(f"the agent runs no commands in the mode {mode}")


@pytest.mark.rule("F2")
@pytest.mark.parametrize("mode", ["workspace-write", pytest.param("danger-full-access", marks=pytest.mark.smoke)])
async def test_what_commands_left_in_the_background_is_gone_after_the_run(mode: str, each_stage: Stage) -> None:
    stage = each_stage
    _in_mode(stage, mode)
    fifo = stage.fifo()
    command = "\n".join([*LEAVING.values(), "echo up > fifo"])
    with stage.model(script(stage.shell(command), answer("Done.", gate="go on"))) as server:
        async with stage.running(stage.sandboxed(mode)) as run:
            await stage.told(fifo)
            await stage.asked(server, 2)
            sleeping = {process.argv[1] for process in stage.oracle.look() if process.argv[:1] == ("sleep",)}
            server.open_gate("go on")
            outcome = await stage.outcome(run)
    if mode == "danger-full-access":
        # the CLI itself ends the process group of a command with it, and the sandbox all the rest
        assert sleeping >= {"603", "604"}
    assert outcome.completion is not None
    assert (outcome.completion.final_text, outcome.completion.status.success) == ("Done.", True)


@pytest.mark.rule("F2")
async def test_a_command_that_is_still_running_at_the_end_of_the_turn_is_gone_after_the_run(stage: Stage) -> None:
    stage.release.needs(0, 120, what="commands that go on while the model does")
    command = Shell("echo begun; sleep 600", {"yield_time_ms": 500})
    with stage.model(script(command, "Done.")):
        outcome = await stage.run(stage.sandboxed("danger-full-access"))
    assert outcome.completion is not None
    assert (outcome.completion.final_text, outcome.completion.status.success) == ("Done.", True)


@pytest.mark.rule("K6", "F2")
async def test_a_cli_that_outlives_its_turn_is_ended_and_its_final_text_kept(stage: Stage) -> None:
    if stage.release.version[:2] != (0, 61):
        has_no_such_case("this release exits with its turn")
    command = Shell("sleep 600", {"yield_time_ms": 500})
    with stage.model(script(command, "Done."), config="features.unified_exec = true\n"):
        outcome = await stage.run(stage.sandboxed("danger-full-access"), exit_grace=1.0)
    assert outcome.completion is not None
    assert (outcome.completion.final_text, outcome.completion.turn) == ("Done.", "completed")
    assert 1.0 < outcome.seconds < 6.0


@pytest.mark.rule("F3", "K5")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", ["INT", "TERM", "KILL"])
async def test_a_cli_that_a_signal_ends_leaves_nothing(number: str, mode: str, stage: Stage) -> None:
    fifo = stage.fifo()
    command = "\n".join([*LEAVING.values(), "echo up > fifo; sleep 605"])
    with stage.model(script(Shell(command), "never")):
        async with stage.running(stage.sandboxed(mode)) as run:
            await stage.told(fifo)
            stage.signal(number)
            outcome = await stage.outcome(run)
    assert outcome.completion is not None
    assert (outcome.completion.turn, outcome.completion.final_text) == ("cut_off", None)
    if number == "INT":
        assert outcome.completion.status.code == (0 if stage.release.before(0, 120) else 1)
    else:
        assert outcome.completion.status.signal == f"SIG{number}"


@pytest.mark.parametrize("mode", MODES)
async def test_a_run_that_is_killed_at_once_leaves_nothing(mode: str, each_stage: Stage) -> None:
    stage = each_stage
    _in_mode(stage, mode)
    fifo = stage.fifo()
    command = "\n".join([*LEAVING.values(), "echo up > fifo; sleep 605"])
    with stage.model(script(stage.shell(command), "never")):
        async with stage.running(stage.sandboxed(mode)) as run:
            await stage.told(fifo)
            run.kill()
            outcome = await stage.outcome(run)
    assert isinstance(outcome.error, RunCancelled)


@pytest.mark.rule("K8")
@pytest.mark.parametrize("how", ["cancel", "kill", "signal"])
async def test_an_ended_run_leaves_the_workspace_as_it_was(how: str, each_stage: Stage) -> None:
    stage = each_stage
    mode = stage.modes[0]
    stage.fifo()
    (stage.workspace / ".aws").mkdir()
    with stage.model(script(stage.shell("echo up > fifo; sleep 605"), "never")):
        async with stage.running(stage.sandboxed(mode)) as run:
            await stage.told(stage.workspace / "fifo")
            if how == "signal":
                stage.signal("INT")
            else:
                getattr(run, how)()
            await stage.outcome(run)
    assert {path.name for path in stage.workspace.iterdir()} == {".aws", "fifo"}


async def test_an_mcp_server_that_is_deaf_is_gone_when_the_run_is_killed(stage: Stage) -> None:
    with stage.model(script(McpCall("srv", "slow", {"seconds": 600}), "never"), config=stage.mcp_server("srv")):
        async with stage.running() as run:
            async for event in run.events:
                if event.kind == "tool_call":
                    break
            assert any(stage.oracle.word in " ".join(process.argv) for process in stage.oracle.look())
            run.kill()
            outcome = await stage.outcome(run)
    assert isinstance(outcome.error, RunCancelled)


async def test_a_stopped_cli_is_ended_too(each_stage: Stage) -> None:
    stage = each_stage
    fifo = stage.fifo()
    with stage.model(script(stage.shell("echo up > fifo; sleep 605"), "never")):
        async with stage.running(stage.sandboxed(stage.modes[-1])) as run:
            await stage.told(fifo)
            stage.signal("STOP")
            run.cancel()
            outcome = await stage.outcome(run)
    assert isinstance(outcome.error, RunCancelled)
    assert outcome.seconds < 6.0
