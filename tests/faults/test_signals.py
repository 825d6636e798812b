"""Test signals to the command in every phase of a run: one completion and the correct status."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
from pathlib import Path

import pytest

from codex_adapter.testing import (
    Exit,
    ExitOnSignal,
    Hang,
    IgnoreSignals,
    PrintJson,
    ReadPrompt,
    StartDescendant,
    WaitFor,
    WriteFacts,
    WriteFile,
)
from codex_adapter.testing.thread_lines import agent_message, turn_completed

from ..cli.command import CANCELLED, Cli, until_full, until_listening
from ..cli.slow_clock import SLOW_CLOCK
from ..runtime.agents import WHOLE_TURN
from ..runtime.survivors import Survivors, temporary_files
from ..waiting import until


@pytest.mark.rule("E4", "N1")
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(
            signal.SIGQUIT,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGQUIT during a run", "It dies of the signal and no process survives"
            ),
        ),
        pytest.param(
            signal.SIGUSR1,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGUSR1 during a run", "It dies of the signal and no process survives"
            ),
        ),
        pytest.param(
            signal.SIGSEGV,
            marks=pytest.mark.fault("signals", "The command crashes during a run (SIGSEGV)", "No process survives"),
        ),
        pytest.param(
            signal.SIGKILL,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGKILL during a run", "No process and no schema file remains"
            ),
        ),
    ],
)
def test_a_command_that_dies_of_a_signal_leaves_nothing(cli: Cli, number: signal.Signals) -> None:
    (cli.directory / "schema").write_text("{}")
    steps = (ReadPrompt(), StartDescendant("pid", session=True, daemon=True), WriteFacts("facts"), Hang())
    words = ("run", "--codex", cli.agent(*steps), "--output-schema", "schema", "Hi.")
    with cli.start(*words) as process:
        until((cli.directory / "facts").exists)
        process.send_signal(number)
        done = cli.finish(process)
    assert (done.status, done.stdout, done.stderr) == (-number, b"", "")
    until(lambda: not temporary_files(cli.directory / "temporary"))


@pytest.mark.rule("E4", "W3")
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(
            signal.SIGPIPE,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGPIPE during a run", "The run continues and succeeds"
            ),
        ),
        pytest.param(
            signal.SIGCHLD,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGCHLD without a child that exits", "The run continues and succeeds"
            ),
        ),
        pytest.param(
            signal.SIGCONT,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGCONT without a stop", "The run continues and succeeds"
            ),
        ),
        pytest.param(
            signal.SIGWINCH,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGWINCH during a run", "The run continues and succeeds"
            ),
        ),
        pytest.param(
            signal.SIGURG,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGURG during a run", "The run continues and succeeds"
            ),
        ),
    ],
)
def test_a_signal_that_means_nothing_changes_nothing(cli: Cli, number: signal.Signals) -> None:
    agent = cli.agent(ReadPrompt(), WriteFile("begun"), WaitFor("go"), *WHOLE_TURN, Exit(3))
    with cli.start("run", "--codex", agent, "Hi.") as process:
        until((cli.directory / "begun").exists)
        process.send_signal(number)
        (cli.directory / "go").touch()
        done = cli.finish(process)
    assert (done.status, done.stderr) == (3, "")
    assert done.completion["status"] == {"code": 3, "signal": None}


@pytest.mark.rule("E4", "K4", "W3")
@pytest.mark.fault(
    "signals",
    "The command receives SIGTERM, SIGINT and SIGHUP 100 times in a row",
    "The run is cancelled with one completion and no process survives",
)
def test_a_storm_of_signals_is_one_cancel(cli: Cli) -> None:
    ignored = IgnoreSignals(("SIGINT", "SIGTERM", "SIGHUP"))
    with cli.start("run", "--codex", cli.agent(ignored, WriteFacts("facts"), Hang()), "Hi.") as process:
        until((cli.directory / "facts").exists)
        for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP] * 34:
            process.send_signal(number)
        done = cli.finish(process)
    assert done.status in (129, 130, 143)
    assert (done.stderr, done.completion) == ("", CANCELLED)


@pytest.mark.rule("E4", "E1", "W3")
@pytest.mark.fault(
    "signals",
    "The command receives SIGINT, SIGTERM and SIGHUP repeatedly until it exits",
    "It writes whole lines and one completion; the status names a signal, without a traceback",
)
@pytest.mark.parametrize("turn", range(3))
def test_a_storm_until_the_command_is_gone_never_tears_a_line(cli: Cli, turn: int) -> None:
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    with cli.start("run", "--codex", cli.agent(ReadPrompt(), Hang()), "Hi.") as process:
        until_listening(process)
        while process.poll() is None:
            for number in numbers[turn:] + numbers[:turn]:
                process.send_signal(number)
        done = cli.finish(process)
    assert done.stderr == ""
    assert done.completion == CANCELLED
    assert done.status in (129, 130, 143)


@pytest.mark.rule("E4", "K4", "W3")
@pytest.mark.parametrize(
    ("number", "status"),
    [
        pytest.param(
            signal.SIGINT,
            130,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGINT while it ends the run", "The run ends at once"
            ),
        ),
        pytest.param(
            signal.SIGTERM,
            143,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGTERM while it ends the run", "The run ends at once"
            ),
        ),
        pytest.param(
            signal.SIGHUP,
            129,
            marks=pytest.mark.fault(
                "signals", "The command receives SIGHUP while it ends the run", "The run ends at once"
            ),
        ),
    ],
)
def test_a_signal_while_the_run_is_being_ended_ends_it_at_once(cli: Cli, number: int, status: int) -> None:
    told = shell_that_tells_signals(cli.directory / "codex")
    # On this clock the next step would come after minutes.
    with cli.start("run", "--codex", told, "Hi.", program=SLOW_CLOCK) as process:
        # Before its first event is shown the run may not be open yet.
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(number)
        until((cli.directory / "told INT").exists)
        process.send_signal(number)
        done = cli.finish(process)
    completion = done._replace(stdout=first + done.stdout).completion
    assert (done.status, done.stderr, completion) == (status, "", {**CANCELLED, "session_id": "t"})
    assert not (cli.directory / "told TERM").exists()


def shell_that_tells_signals(path: Path) -> str:
    """An agent that says of signals that it had them, and lives on.

    It waits in a read: a shell that starts programs in a loop loses a signal that comes while it forks.
    """
    traps = "\n".join(f"trap ': >\"told {name}\"' {name}" for name in ("INT", "TERM", "HUP"))
    begun = """echo '{"type":"thread.started","thread_id":"t"}'"""
    path.write_text(f"#!/bin/sh\n{traps}\nmkfifo never\nexec 3<>never\n{begun}\nwhile :; do read line <&3; done\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.rule("E4", "F6", "W3")
@pytest.mark.fault(
    "signals",
    "The command receives SIGTERM while the completion of an ended run waits for a reader",
    "It exits with the status of the run",
)
def test_a_signal_after_the_end_of_the_run_changes_nothing(cli: Cli) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    said = (agent_message("item_0", "x" * 20_000), turn_completed())
    with (
        os.fdopen(reader, "rb", buffering=0) as stdout,
        cli.start("run", "--codex", cli.agent(ReadPrompt(), *map(PrintJson, said)), "Hi.", stdout=writer) as process,
    ):
        os.close(writer)
        lines: list[bytes] = []
        while not lines or b"codex_adapter.usage.v1" not in lines[-1]:
            lines.append(stdout.readline())
        until_full(stdout.fileno())  # with the first part of the completion
        process.send_signal(signal.SIGTERM)
        until(lambda: not is_pending(process.pid, signal.SIGTERM))
        lines.append(stdout.read())
        done = cli.finish(process)
    completion = done._replace(stdout=b"".join(lines)).completion
    assert (done.status, completion["ok"], completion["final_text"]) == (0, True, "x" * 20_000)


def is_pending(pid: int, number: signal.Signals) -> bool:
    """Whether a process has not yet been interrupted by a signal that was sent to it."""
    pending = re.search(r"^ShdPnd:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.M)
    return pending is not None and bool(int(pending[1], 16) >> (number - 1) & 1)


@pytest.mark.rule("E4")
@pytest.mark.fault(
    "signals",
    "The terminal sends SIGINT to the command, its guard and the agent at once",
    "The run is cancelled without a traceback",
)
def test_an_interrupt_to_the_whole_group_is_one_cancel(cli: Cli, survivors: Survivors) -> None:
    agent = cli.agent(ExitOnSignal("SIGINT", 9), ReadPrompt(), WriteFile("begun"), Hang())
    with cli.start("run", "--codex", agent, "Hi.", start_new_session=True) as process:
        until((cli.directory / "begun").exists)
        for living in survivors.now():
            # The guard may have exited by now, because the agent before it has.
            with contextlib.suppress(ProcessLookupError):
                if living.pid != process.pid:
                    os.kill(living.pid, signal.SIGINT)
        os.killpg(process.pid, signal.SIGINT)
        done = cli.finish(process)
    # The agent may have been quicker than we are.
    assert done.status in (130, 9)
    assert done.stderr == ""
    assert done.completion
