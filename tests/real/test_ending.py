"""Test that a run of the real CLI ends quickly during a command, without leftovers."""

from __future__ import annotations

import time

import pytest
import trio

from codex_adapter import RunCancelled, RunTimedOut, open_run
from codex_adapter.errors import BackendError
from codex_adapter.testing import McpCall, Shell, answer, script

from ..waiting import SOON
from .shapes import shape
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("K4")]

PROMPT = 3.0
"""Seconds that the end of a run may take; the CLI itself takes about 60 ms."""
MODES = ("workspace-write", "danger-full-access")
RUNNING = "tool_call command_execution running"
TIMEOUT = str(BackendError("timeout"))
BUSY = """\
sleep 601 & (setsid sleep 602 &) ; (trap '' INT TERM HUP; sleep 603) & nohup sleep 604 >nohup.out 2>&1 &
echo $$ > fifo; sleep 605; echo never > never"""
"""A command with children in the background, in a session of its own, and deaf to signals."""


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """A sandbox whose processes end with the CLI, and none at all."""
    mode: str = request.param
    return mode


@pytest.mark.smoke
@pytest.mark.rule("K3", "F4", "F6")
@pytest.mark.usefixtures("agent_sandbox")
async def test_a_run_is_cancelled_in_the_middle_of_a_command(mode: str, stage: Stage) -> None:
    fifo = stage.fifo()
    with stage.model(script(Shell(BUSY), "never")):
        # It ends when it is asked to: a signal that insists would come too late for this test.
        async with stage.running(stage.sandboxed(mode), stop_timeout=50 * SOON) as run:
            seen = [await run.events.receive() for _ in range(2)]
            await stage.told(fifo)
            assert len(stage.oracle.look()) > 3
            run.cancel()
            outcome = await stage.outcome(run)
    assert shape(seen)[0] == "session"
    assert outcome.events == []
    assert isinstance(outcome.error, RunCancelled)
    assert str(outcome.error) == "cancelled"
    assert not (stage.workspace / "never").exists()


@pytest.mark.rule("K1", "F4")
async def test_a_run_times_out_in_the_middle_of_a_command(mode: str, stage: Stage) -> None:
    fifo = stage.fifo()
    with stage.model(script(Shell(BUSY), "never")):
        async with stage.running(stage.sandboxed(mode, timeout=3.0)) as run:
            await stage.told(fifo)
            outcome = await stage.outcome(run)
    assert isinstance(outcome.error, RunTimedOut)
    assert str(outcome.error) == TIMEOUT
    assert shape(outcome.events) == ["session", "status", RUNNING, TIMEOUT]
    assert 0 < outcome.seconds < 3.0 + PROMPT


@pytest.mark.rule("K2", "F4")
async def test_a_tool_times_out(mode: str, stage: Stage) -> None:
    fifo = stage.fifo()
    with stage.model(script(Shell(BUSY), "never")):
        async with stage.running(stage.sandboxed(mode), tool_timeout=1.0) as run:
            await stage.told(fifo)
            outcome = await stage.outcome(run)
    assert isinstance(outcome.error, RunTimedOut)
    assert str(outcome.error) == TIMEOUT
    assert shape(outcome.events) == ["session", "status", RUNNING, TIMEOUT]
    assert outcome.seconds < 1.0 + PROMPT


@pytest.mark.rule("K2")
async def test_a_silent_model_is_idle(stage: Stage) -> None:
    with stage.model(script(Shell("echo x > done"), answer("never", gate="never"))):
        outcome = await stage.run(idle_timeout=2.0)
    assert isinstance(outcome.error, RunTimedOut)
    assert str(outcome.error) == "codex stream idle timeout: 2s"
    assert shape(outcome.events)[:3] == ["session", "status", RUNNING]
    assert shape(outcome.events)[-1] == "codex stream idle timeout: 2s"
    assert (stage.workspace / "done").exists()
    assert outcome.seconds < 2.0 + 2 * PROMPT


@pytest.mark.rule("K2")
async def test_a_long_command_is_not_idle(stage: Stage) -> None:
    with stage.model(script(Shell("sleep 3"), "Done.")):
        outcome = await stage.run(idle_timeout=2.0)
    assert outcome.completion is not None
    assert outcome.completion.final_text == "Done."


@pytest.mark.rule("K3")
async def test_a_run_is_cancelled_while_the_model_is_silent(stage: Stage) -> None:
    with stage.model(script(answer("never", gate="never"))) as server:
        async with stage.running() as run:
            await stage.asked(server)
            run.cancel()
            run.cancel()
            outcome = await stage.outcome(run)
    assert isinstance(outcome.error, RunCancelled)
    assert outcome.seconds < PROMPT


@pytest.mark.rule("K3")
async def test_a_run_is_cancelled_before_the_cli_has_said_a_word(stage: Stage) -> None:
    with stage.model(script("never")):
        async with stage.running() as run:
            run.cancel()
            outcome = await stage.outcome(run)
    assert isinstance(outcome.error, RunCancelled)
    assert outcome.seconds < PROMPT


@pytest.mark.rule("K3")
async def test_a_cancel_comes_too_late_for_a_completion_that_was_given_out(stage: Stage) -> None:
    with stage.model(script("Done.")):
        async with stage.running() as run:
            outcome = await stage.outcome(run)
            run.cancel()
            assert await run.wait_completed() == outcome.completion


@pytest.mark.rule("K5")
async def test_an_exception_in_the_block_leaves_it_as_it_is_and_nothing_else_behind(mode: str, stage: Stage) -> None:
    fifo = stage.fifo()
    mistake = KeyError("of the caller")
    started = 0.0
    with stage.model(script(Shell(BUSY), "never")), pytest.raises(KeyError) as caught:  # noqa: PT012 - one block
        async with open_run(stage.sandboxed(mode), config=stage.config()):
            await stage.told(fifo)
            started = time.monotonic()
            raise mistake
    assert time.monotonic() - started < PROMPT
    assert caught.value is mistake
    assert caught.value.__context__ is None
    stage.oracle.check()


@pytest.mark.rule("K5")
async def test_a_cancelled_scope_ends_the_run_before_control_comes_back(mode: str, stage: Stage) -> None:
    fifo = stage.fifo()
    with stage.model(script(Shell(BUSY), "never")):
        with trio.CancelScope() as scope:
            async with open_run(stage.sandboxed(mode), config=stage.config()) as run:
                await stage.told(fifo)
                scope.cancel()
                await run.wait_completed()
        assert scope.cancelled_caught
        stage.oracle.check()


async def test_an_mcp_server_that_is_deaf_is_gone_with_the_run(stage: Stage) -> None:
    with stage.model(script(McpCall("srv", "slow", {"seconds": 600}), "never"), config=stage.mcp_server("srv")):
        async with stage.running() as run:
            async for event in run.events:
                if event.kind == "tool_call":
                    break
            assert any(stage.oracle.word in " ".join(process.argv) for process in stage.oracle.look())
            run.cancel()
            outcome = await stage.outcome(run)
    assert isinstance(outcome.error, RunCancelled)
    assert outcome.seconds < PROMPT
