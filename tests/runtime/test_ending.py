"""Test the end of a run: the agent's status, the signals before the kill, and the grace periods."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_adapter import BackendError, CodexConfig, RunCancelled, RunRequest, RunTimedOut, collect, open_run
from codex_adapter.runtime.containment.containment import Level
from codex_adapter.runtime.run import Run
from codex_adapter.testing import (
    CloseStdout,
    Die,
    Exit,
    ExitOnSignal,
    Hang,
    IgnoreSignals,
    Repeat,
    StartDescendant,
    Step,
    WaitFor,
)

from .agents import WHOLE_TURN, backend, config
from .survivors import Survivors

STEP = 600.0
"""Seconds that pass in no test, unless it moves the clock."""


@pytest.mark.rule("F3", "N2")
@pytest.mark.parametrize(("step", "text"), [(Exit(7), "exit status: 7"), (Die("SIGSEGV"), "signal: 11 (SIGSEGV)")])
async def test_the_agents_own_status_is_told(tmp_path: Path, level: Level, step: Step, text: str) -> None:
    runs = backend(level, config(tmp_path, *WHOLE_TURN, step))
    async with runs.open_run(RunRequest(prompt="x")) as run:
        last = [event async for event in run.events][-1]
        assert str((await run.wait_completed()).status) == text
    assert last.message == f"codex exited non-zero: {text} (stderr redacted)"


@pytest.mark.rule("X2", "F4", "N2")
async def test_a_status_that_the_system_took_is_a_wait_error_unless_a_guard_waited_for_it(
    tmp_path: Path, level: Level
) -> None:
    runs = backend(level, config(tmp_path, *WHOLE_TURN[:2], WaitFor("go"), Exit(7)))
    async with runs.open_run(RunRequest(prompt="x")) as run:
        await run.events.receive()
        previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            (tmp_path / "go").touch()
            await run.events.aclose()
            if level == "process_group":
                with pytest.raises(BackendError, match=r"\Acodex backend error: wait ") as caught:
                    await run.wait_completed()
                assert caught.value.failure == "wait"
            else:
                assert (await run.wait_completed()).status.code == 7
        finally:
            signal.signal(signal.SIGCHLD, previous)


def stop_agent(survivors: Survivors) -> None:
    [agent] = [process for process in survivors.now() if not survivors.children(process.pid)]
    os.kill(agent.pid, signal.SIGSTOP)


@pytest.mark.rule("K4")
async def test_cancel_insists_with_sigterm(tmp_path: Path, level: Level, clock: MockClock) -> None:
    steps = [IgnoreSignals(("SIGINT",)), *WHOLE_TURN[:2], Hang()]
    runs = backend(level, config(tmp_path, *steps, stop_timeout=3 * STEP))
    async with runs.open_run(RunRequest(prompt="x")) as run:
        await run.events.receive()
        run.cancel()
        await wait_all_tasks_blocked()
        clock.jump(STEP)
        with pytest.raises(RunCancelled):
            await run.wait_completed()
        assert isinstance(run, Run)
        assert run._status is not None
        assert run._status.signal == "SIGTERM"


@pytest.mark.rule("K4")
async def test_a_stopped_agent_is_continued_to_end_as_it_would(
    tmp_path: Path, level: Level, survivors: Survivors, clock: MockClock
) -> None:
    steps = [ExitOnSignal("SIGINT", 9), *WHOLE_TURN[:2], Hang()]
    runs = backend(level, config(tmp_path, *steps, stop_timeout=3 * STEP))
    async with runs.open_run(RunRequest(prompt="x", env=survivors.env)) as run:
        await run.events.receive()
        stop_agent(survivors)
        run.cancel()
        await wait_all_tasks_blocked()
        clock.jump(STEP)
        with pytest.raises(RunCancelled):
            await run.wait_completed()
        assert isinstance(run, Run)
        assert run._status is not None
        assert run._status.signal != "SIGKILL"


@pytest.mark.rule("K4", "K1", "D4")
async def test_output_is_read_while_the_run_is_ended_though_the_consumer_sleeps(
    tmp_path: Path, clock: MockClock
) -> None:
    binary = tmp_path / "codex"
    binary.write_text(
        "#!/bin/sh\n"
        "read -r prompt\n"
        "trap 'head -c 3000000 /dev/zero | tr \\\\0 x | fold -w 1000; exit 7' INT\n"
        # It waits in a read: a shell that starts programs in a loop loses a signal that comes while it forks.
        "mkfifo never; exec 3<>never\n"
        """echo '{"type":"turn.started"}'\n"""
        "while :; do read -r more <&3; done\n"
    )
    binary.chmod(0o755)
    settings = CodexConfig(binary=str(binary), default_working_dir=str(tmp_path), stop_timeout=3 * STEP)
    async with open_run(RunRequest(prompt="x\n", timeout=STEP), config=settings) as run:
        assert isinstance(run, Run)
        await run.events.receive()
        await wait_all_tasks_blocked()
        clock.jump(STEP)
        await run._exited.wait()
        events = [event async for event in run.events]
        with pytest.raises(RunTimedOut):
            await run.wait_completed()
        assert str(run._status) == "exit status: 7"
    assert events[-1].message == "codex backend error: timeout (details redacted when unsafe)"


@pytest.mark.rule("K4", "K3")
async def test_cancel_asks_with_sigint_first(tmp_path: Path) -> None:
    steps = [ExitOnSignal("SIGINT", 9), *WHOLE_TURN[:2], Hang()]
    async with open_run(RunRequest(prompt="x"), config=config(tmp_path, *steps, stop_timeout=3 * STEP)) as run:
        await run.events.receive()
        run.cancel()
        with pytest.raises(RunCancelled):
            await run.wait_completed()
        assert isinstance(run, Run)
        assert run._status is not None
        assert run._status.code == 9


@pytest.mark.fault("timing", "The agent ignores every termination signal", "The adapter kills it within the time limit")
@pytest.mark.rule("K4")
async def test_an_agent_that_ignores_signals_is_killed_within_the_bound(tmp_path: Path, clock: MockClock) -> None:
    steps = [IgnoreSignals(("SIGINT", "SIGTERM", "SIGHUP")), *WHOLE_TURN[:2], Hang()]
    async with open_run(RunRequest(prompt="x"), config=config(tmp_path, *steps, stop_timeout=3 * STEP)) as run:
        assert isinstance(run, Run)
        await run.events.receive()
        run.cancel()
        for _ in range(2):
            await wait_all_tasks_blocked()
            assert run._status is None
            clock.jump(STEP)
        with pytest.raises(RunCancelled):
            await run.wait_completed()
        assert run._status is not None
        assert run._status.signal == "SIGKILL"


@pytest.mark.fault(
    "timing",
    "A caller cancels a run whose agent is stopped (SIGSTOP) with a full pipe",
    "The adapter ends the agent and no process survives",
)
@pytest.mark.rule("K4")
async def test_an_agent_that_is_stopped_or_blocked_on_a_full_pipe_is_ended_too(
    tmp_path: Path, level: Level, survivors: Survivors
) -> None:
    steps = [*WHOLE_TURN[:2], Repeat('{"type":"turn.started"}')]
    with trio.fail_after(60):
        runs = backend(level, config(tmp_path, *steps, stop_timeout=0.9))
        async with runs.open_run(RunRequest(prompt="x", env=survivors.env)) as run:
            await run.events.receive()
            stop_agent(survivors)
            run.cancel()
            with pytest.raises(RunCancelled):
                await run.wait_completed()
    assert survivors.now() == []


@pytest.mark.rule("F7", "K4")
async def test_a_grandchild_that_holds_stdout_holds_the_run_for_a_grace_only(
    tmp_path: Path, survivors: Survivors
) -> None:
    steps = [StartDescendant("pid", session=True, hold_stdout=True), *WHOLE_TURN]
    start = time.monotonic()
    completion = await collect(
        RunRequest(prompt="x", env=survivors.env), config=config(tmp_path, *steps, descendant_grace=0.5)
    )
    assert completion.final_text == "done"
    assert time.monotonic() - start >= 0.5
    assert survivors.now() == []


@pytest.mark.rule("F8")
async def test_an_agent_that_closes_its_output_in_mid_turn_fails_the_run(tmp_path: Path) -> None:
    steps = [*WHOLE_TURN[:3], CloseStdout(), Hang()]
    async with open_run(RunRequest(prompt="x"), config=config(tmp_path, *steps, exit_grace=0.3)) as run:
        last = [event async for event in run.events][-1]
        with pytest.raises(BackendError, match=r"\Acodex stream closed unexpectedly\Z"):
            await run.wait_completed()
    assert last.message == "codex stream closed unexpectedly"


@pytest.mark.rule("K6")
async def test_an_agent_that_lingers_after_its_turn_is_ended_with_its_answer(tmp_path: Path) -> None:
    settings = config(tmp_path, *WHOLE_TURN, Hang(), exit_grace=0.3, stop_timeout=3 * STEP)
    completion = await collect(RunRequest(prompt="x"), config=settings)
    assert completion.final_text == "done"
    assert completion.status.signal == "SIGINT"


@pytest.mark.rule("K5")
async def test_an_exception_leaves_a_cancelled_block_as_it_is(tmp_path: Path, survivors: Survivors) -> None:
    settings = config(tmp_path, *WHOLE_TURN[:2], Hang())

    async def leave(scope: trio.CancelScope) -> None:
        async with open_run(RunRequest(prompt="x", env=survivors.env), config=settings) as run:
            await run.events.receive()
            scope.cancel()
            raise KeyError("mine")

    with trio.CancelScope() as scope, pytest.raises(KeyError, match="mine") as caught:
        await leave(scope)
    assert caught.value.__context__ is None
    assert survivors.now() == []
