"""Test signals to the agent and to its guard: the correct status and no leftovers."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import pytest
import trio

from codex_adapter import (
    CodexConfig,
    RunCancelled,
    RunRequest,
)
from codex_adapter.runtime.containment.containment import LEVELS, Level
from codex_adapter.testing import (
    Exit,
    PrintJson,
    WaitFor,
)
from codex_adapter.testing.thread_lines import thread_started

from ..needs import has_no_such_case
from ..runtime.agents import WHOLE_TURN, backend, config
from ..runtime.survivors import Survivors
from ..waiting import state, until

FATAL = sorted(
    signal.valid_signals()
    - {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
    - {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
)
REAL_TIME = range(signal.SIGRTMIN, signal.SIGRTMAX + 1)


@pytest.mark.rule("F3", "W2", "N2")
@pytest.mark.fault(
    "signals",
    "Any fatal signal, including a real-time signal, kills the agent",
    "The completion names the same signal",
)
async def test_the_signal_that_killed_the_agent_is_told_whichever_it_is(
    tmp_path: Path, level: Level, nothing_left: None
) -> None:
    agent = tmp_path / "codex"
    agent.write_text('#!/bin/sh\nulimit -c 0\nkill -"$NUMBER" $$\n')
    agent.chmod(0o755)
    runs = backend(level, CodexConfig(binary=str(agent), default_working_dir=str(tmp_path)))
    told: dict[int, int | None] = {}
    messages: dict[int, str | None] = {}

    async def one(number: int) -> None:
        async with runs.open_run(RunRequest(prompt="x", env={"NUMBER": str(number)})) as run:
            [event] = [event async for event in run.events]
            messages[number] = event.message
            told[number] = (await run.wait_completed()).status.signal_number

    # Real-time signals differ in nothing but their number: each level has another part of them.
    share = LEVELS.index(level)
    signals = [it for it in FATAL if it not in REAL_TIME or it == 35 or it % len(LEVELS) == share]
    async with trio.open_nursery() as nursery:
        for number in signals:
            nursery.start_soon(one, number)
    assert told == {number: number for number in signals}
    assert messages[signal.SIGSYS] == "codex exited non-zero: signal: 31 (SIGSYS) (stderr redacted)"
    assert messages[35] == "codex exited non-zero: signal: 35 (SIG35) (stderr redacted)"


@pytest.mark.rule("F3", "N2")
@pytest.mark.fault(
    "signals", "The agent dumps core (SIGSEGV, SIGABRT)", "The completion contains only the name of the signal"
)
@pytest.mark.parametrize("name", ["SEGV", "ABRT"])
async def test_an_agent_that_dumps_core_is_told_by_its_signal(
    tmp_path: Path, level: Level, nothing_left: None, name: str
) -> None:
    agent = tmp_path / "codex"
    agent.write_text(f"#!/bin/sh\nulimit -c 1024 2>/dev/null\nkill -{name} $$\n")
    agent.chmod(0o755)
    settings = CodexConfig(binary=str(agent), default_working_dir=str(tmp_path))
    async with backend(level, settings).open_run(RunRequest(prompt="x")) as run:
        await run.events.aclose()
        assert (await run.wait_completed()).status.signal == f"SIG{name}"


@pytest.mark.rule("K3", "K4", "N2")
@pytest.mark.fault(
    "signals",
    "The agent stops itself (SIGSTOP, SIGTSTP, SIGTTIN) and a caller cancels the run",
    "The run ends and no process survives",
)
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN])
async def test_an_agent_that_has_stopped_itself_is_ended(
    tmp_path: Path, level: Level, nothing_left: None, survivors: Survivors, number: signal.Signals
) -> None:
    agent = tmp_path / "codex"
    line = msgspec.json.encode(thread_started()).decode()
    agent.write_text(f"#!/bin/sh\necho '{line}'\nkill -{int(number)} $$\n")
    agent.chmod(0o755)
    settings = CodexConfig(binary=str(agent), default_working_dir=str(tmp_path), stop_timeout=0.3)
    with trio.fail_after(60):
        async with backend(level, settings).open_run(RunRequest(prompt="x", env=survivors.env)) as run:
            await run.events.receive()
            run.cancel()
            with pytest.raises(RunCancelled):
                await run.wait_completed()


@pytest.mark.rule("F3", "N2")
@pytest.mark.fault(
    "signals", "Another process stops and continues the agent", "The adapter reports all its events and its own status"
)
async def test_an_agent_that_is_stopped_and_continued_tells_its_whole_story(
    tmp_path: Path, level: Level, nothing_left: None, survivors: Survivors
) -> None:
    steps = [PrintJson(thread_started()), WaitFor("go"), *WHOLE_TURN[1:], Exit(3)]
    with trio.fail_after(60):
        async with backend(level, config(tmp_path, *steps)).open_run(RunRequest(prompt="x", env=survivors.env)) as run:
            await run.events.receive()
            [agent] = [process for process in survivors.now() if not survivors.children(process.pid)]
            os.kill(agent.pid, signal.SIGSTOP)
            (tmp_path / "go").touch()
            until(lambda: state(agent.pid) == "T")
            os.kill(agent.pid, signal.SIGCONT)
            assert len([event async for event in run.events]) == 4
            assert (await run.wait_completed()).status.code == 3


@pytest.mark.rule("F3", "N2")
@pytest.mark.fault(
    "signals",
    "The guard receives SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE",
    "The guard continues and the run succeeds",
)
async def test_a_guard_takes_no_signal_that_can_be_ignored(
    tmp_path: Path, level: Level, nothing_left: None, survivors: Survivors
) -> None:
    if level == "process_group":
        has_no_such_case("there is no guard at this level")
    steps = [PrintJson(thread_started()), WaitFor("go"), *WHOLE_TURN[1:], Exit(3)]
    with trio.fail_after(60):
        async with backend(level, config(tmp_path, *steps)).open_run(RunRequest(prompt="x", env=survivors.env)) as run:
            await run.events.receive()
            for guard in [process for process in survivors.now() if "guard.py" in process.argv]:
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
                    os.kill(guard.pid, number)
            (tmp_path / "go").touch()
            assert len([event async for event in run.events]) == 4
            assert (await run.wait_completed()).status.code == 3
