"""Test commands that are stopped and continued, or that start with blocked or ignored signals."""

from __future__ import annotations

import contextlib
import signal
import subprocess

import pytest

from codex_adapter.testing import (
    Hang,
    ReadPrompt,
    Repeat,
    WriteFile,
)

from ..cli.command import ADAPTER, CANCELLED, Cli, until_listening
from ..runtime.agents import WHOLE_TURN
from ..waiting import SOON, state, until
from .circumstances import after

LINE = '{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"%s"}}'


@pytest.mark.rule("E4", "D2", "W3")
@pytest.mark.fault(
    "signals",
    "A flood of events arrives while a process stops and continues the command",
    "No event is lost or repeated",
)
def test_a_command_that_is_stopped_and_continued_loses_no_event(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), Repeat(LINE % "x", 20_000), *WHOLE_TURN)
    with cli.start("run", "--codex", agent, "Hi.", bufsize=0) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        for _ in range(20):
            process.send_signal(signal.SIGSTOP)
            until(lambda: state(process.pid) == "T")
            process.send_signal(signal.SIGCONT)
            lines += [process.stdout.readline() for _ in range(50)]
        done = cli.finish(process)
    done = done._replace(stdout=b"".join(lines) + done.stdout)
    assert (done.status, done.stderr) == (0, "")
    assert done.completion["final_text"] == "done"
    assert len(done.records) == 20_000 + 4 + 1


@pytest.mark.rule("E4", "K1")
@pytest.mark.fault(
    "signals",
    "The command is stopped until its timeout has expired",
    "The run times out as soon as the command continues, and no process survives",
)
def test_a_command_that_is_stopped_beyond_its_timeout_ends_the_run_when_it_goes_on(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), WriteFile("begun"), Hang())
    with cli.start("run", "--codex", agent, "--timeout", "0.8", "Hi.") as process:
        # Where the start takes that long, the timeout ends the run before it can be stopped.
        until(lambda: (cli.directory / "begun").exists() or process.poll() is not None)
        process.send_signal(signal.SIGSTOP)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGCONT)
        done = cli.finish(process)
    assert done.status == 124


@pytest.mark.rule("E4", "W3")
@pytest.mark.fault("signals", "A stopped command receives SIGTERM", "The run is cancelled when the command continues")
def test_a_signal_to_a_stopped_command_is_taken_when_it_goes_on(cli: Cli) -> None:
    with cli.start("run", "--codex", cli.agent(ReadPrompt(), WriteFile("begun"), Hang()), "Hi.") as process:
        until((cli.directory / "begun").exists)
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        done = cli.finish(process)
    assert (done.status, done.completion) == (143, CANCELLED)


@pytest.mark.rule("E4", "W3")
@pytest.mark.fault(
    "signals",
    "The command starts with SIGTERM, SIGINT and SIGHUP blocked",
    "The first of these signals still cancels the run",
)
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_signals_that_were_blocked_at_the_start_cancel_all_the_same(cli: Cli, number: int, status: int) -> None:
    block = after("signal.pthread_sigmask(signal.SIG_BLOCK, [1, 2, 15])")
    with cli.start("run", "--codex", cli.agent(), program=(*block, *ADAPTER), stdin=subprocess.PIPE) as process:
        until_listening(process)
        process.send_signal(number)
        process.wait(SOON)  # its standard input is open: a prompt that ends could be refused before the signal is seen
        done = cli.finish(process)
    assert (done.status, done.completion) == (status, CANCELLED)


@pytest.mark.rule("E4", "W3")
@pytest.mark.fault("signals", "The command starts with SIGTERM ignored", "SIGTERM still cancels the run")
def test_a_sigterm_that_was_ignored_at_the_start_cancels_all_the_same(cli: Cli) -> None:
    ignore = after("signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    with cli.start("run", "--codex", cli.agent(), program=(*ignore, *ADAPTER), stdin=subprocess.PIPE) as process:
        until_listening(process)
        process.send_signal(signal.SIGTERM)
        process.wait(SOON)
        done = cli.finish(process)
    assert (done.status, done.completion) == (143, CANCELLED)
