"""Test stop signals: the run is cancelled in every phase, and a second signal kills at once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from codex_adapter.testing import (
    Exit,
    Hang,
    IgnoreSignals,
    PrintJson,
    ReadPrompt,
    Repeat,
    StartDescendant,
    Step,
    WaitFor,
    WriteFacts,
    WriteFile,
)
from codex_adapter.testing.thread_lines import thread_started

from ..waiting import SOON, until
from .command import ADAPTER, CANCELLED, Cli, until_full, until_listening
from .slow_clock import SLOW_CLOCK

pytestmark = pytest.mark.rule("E4", "E1", "W3")
STOPPING = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


def started(cli: Cli, *steps: Step, program: tuple[str, ...] = ADAPTER) -> subprocess.Popen[bytes]:
    """A run whose agent has begun with these steps."""
    facts = cli.directory / "facts"
    process = cli.start("run", "--codex", cli.agent(*steps, WriteFacts(str(facts)), Hang()), "Hi.", program=program)
    until(facts.exists)
    return process


def left(cli: Cli) -> list[str]:
    """Processes that have the test's own directory in their arguments, as the agent and all its descendants do."""
    found = []
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(cli.directory).encode() in arguments.read_bytes():
                found.append(arguments.parent.name)
    return found


@pytest.mark.parametrize(("number", "status"), STOPPING)
@pytest.mark.fault(
    "signals",
    "The command receives SIGINT, SIGTERM or SIGHUP during a run",
    "The run is cancelled with a completion; the status is 128 plus the signal number",
)
def test_a_signal_cancels_the_run_and_the_completion_is_still_written(
    cli: Cli, number: signal.Signals, status: int
) -> None:
    with started(cli, PrintJson(thread_started()), StartDescendant("child", session=True)) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(number)
        done = cli.finish(process)
    assert done.status == status
    assert done.stderr == ""
    session = json.loads(first)["data"]["session"]["id"]
    assert done._replace(stdout=first + done.stdout).completion == {**CANCELLED, "session_id": session}
    assert left(cli) == []


@pytest.mark.fault(
    "signals",
    "The command receives two different signals, and its agent ignores both",
    "The adapter kills the agent at once",
)
def test_a_second_signal_goes_at_once_to_the_kill(cli: Cli) -> None:
    # On this clock the steps of the ending take minutes when nothing hurries them.
    with started(cli, IgnoreSignals(("SIGINT", "SIGTERM", "SIGHUP")), program=SLOW_CLOCK) as process:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        done = cli.finish(process)
    assert done.status in (143, 130)
    assert done.completion == CANCELLED
    assert left(cli) == []


@pytest.mark.parametrize(("number", "status"), STOPPING)
@pytest.mark.fault(
    "signals", "The command receives a signal while it waits for the prompt", "The run is cancelled and no agent starts"
)
def test_a_signal_while_the_prompt_is_awaited_starts_no_agent(cli: Cli, number: signal.Signals, status: int) -> None:
    agent = cli.agent(WriteFile(f"{cli.directory}/started"))
    with cli.start("run", "--codex", agent, stdin=subprocess.PIPE) as process:
        until_listening(process)
        process.send_signal(number)
        assert process.wait(SOON) == status
        done = cli.finish(process)
    assert done.completion == CANCELLED
    assert not (cli.directory / "started").exists()


@pytest.mark.fault(
    "signals",
    "The command receives a signal while it waits for a request file",
    "The run is cancelled and no agent starts",
)
def test_a_signal_while_a_request_file_is_awaited_starts_no_agent(cli: Cli) -> None:
    os.mkfifo(cli.directory / "request")
    with cli.start("run", "--codex", cli.agent(), "--request", "request") as process:
        until_listening(process)
        process.send_signal(signal.SIGTERM)
        done = cli.finish(process)
    assert (done.status, done.completion) == (143, CANCELLED)


@pytest.mark.fault(
    "signals",
    "The command receives a signal while it queries the binary for its release",
    "The run is cancelled and no agent starts",
)
def test_a_signal_while_the_release_is_asked_for_starts_no_agent(cli: Cli) -> None:
    slow = cli.directory / "codex"
    slow.write_text('#!/bin/sh\ncd "${0%/*}"\ntouch "asked$1"\nexec sleep 100\n')
    slow.chmod(0o755)
    with cli.start("run", "--codex", str(slow), "--add-dir", ".", "Hi.") as process:
        until((cli.directory / "asked--version").exists)
        process.send_signal(signal.SIGTERM)
        done = cli.finish(process)
    assert (done.status, done.completion) == (143, CANCELLED)
    assert sorted(path.name for path in cli.directory.glob("asked*")) == ["asked--version"]


@pytest.mark.fault("signals", "A signal is pending when the command starts", "The run is cancelled")
def test_a_signal_that_was_held_back_before_we_came_is_taken(cli: Cli) -> None:
    block = (
        "signal.pthread_sigmask(signal.SIG_BLOCK, [15]); os.kill(os.getpid(), 15); os.execv(sys.argv[1], sys.argv[1:])"
    )
    program = (ADAPTER[0], "-c", f"import os, signal, sys; {block}", *ADAPTER)
    done = cli.finish(cli.start("run", "--codex", cli.agent(), "Hi.", program=program))
    assert (done.status, done.completion) == (143, CANCELLED)


@pytest.mark.rule("E3")
@pytest.mark.fault(
    "signals",
    "The command receives a signal while its output has no active reader",
    "It writes only whole lines and the completion",
)
def test_a_signal_while_nobody_reads_leaves_whole_lines_and_the_completion(cli: Cli) -> None:
    line = '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"%s"}}' % ("x" * 9000)
    with cli.start("run", "--codex", cli.agent(ReadPrompt(), Repeat(line)), "Hi.") as process:
        assert process.stdout is not None
        until_full(process.stdout.fileno())
        process.send_signal(signal.SIGTERM)
        done = cli.finish(process)
    assert (done.status, done.completion) == (143, CANCELLED)


@pytest.mark.rule("E3")
@pytest.mark.fault(
    "signals", "The command receives a signal while its output is never read", "The command exits without its reader"
)
def test_a_signal_waits_for_a_reader_who_never_reads_for_a_bounded_time(cli: Cli) -> None:
    line = '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"%s"}}' % ("x" * 9000)
    with cli.start("run", "--codex", cli.agent(ReadPrompt(), Repeat(line)), "Hi.") as process:
        assert process.stdout is not None
        until_full(process.stdout.fileno())
        process.send_signal(signal.SIGTERM)
        assert process.wait(SOON) == 143
        done = cli.finish(process)
    *whole, torn = done.stdout.split(b"\n")
    assert [json.loads(record)["type"] for record in whole] == ["event"] * len(whole) != []
    assert not torn.endswith(b"}")
    assert left(cli) == []


@pytest.mark.rule("E3")
@pytest.mark.fault(
    "signals",
    "The command receives a signal after the run while its completion waits for a reader",
    "The command exits without its reader",
)
def test_a_signal_while_the_completion_waits_for_its_reader(cli: Cli) -> None:
    line = '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"%s"}}' % ("x" * 60_000)
    (cli.directory / "recorded").write_text(f"{line}\n" * 4)
    with cli.start("replay", "recorded") as process:
        assert process.stdout is not None
        until_full(process.stdout.fileno())
        process.send_signal(signal.SIGTERM)
        assert process.wait(SOON) == 143
        cli.finish(process)


@pytest.mark.rule("E3")
@pytest.mark.fault(
    "signals", "The command receives two signals while its output is not read", "The command exits without its reader"
)
def test_a_second_signal_waits_for_no_reader(cli: Cli) -> None:
    with cli.start("run", "--codex", cli.agent(ReadPrompt(), Repeat("{}")), "Hi.") as process:
        assert process.stdout is not None
        until_full(process.stdout.fileno())
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        assert process.wait(SOON) in (143, 129)
        cli.finish(process)


@pytest.mark.fault("signals", "The command starts with SIGHUP ignored, as under nohup", "SIGHUP stays ignored")
def test_an_ignored_hangup_stays_ignored(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), WriteFile("started"), WaitFor("go"), Exit(3))
    ignore = ("/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    with cli.start("run", "--codex", agent, "Hi.", program=(*ignore, *ADAPTER)) as process:
        until((cli.directory / "started").exists)
        process.send_signal(signal.SIGHUP)
        (cli.directory / "go").touch()
        done = cli.finish(process)
    assert done.status == 3


@pytest.mark.fault(
    "signals", "The command starts with SIGINT ignored, as a background job of a shell", "SIGINT still cancels the run"
)
def test_it_stops_for_an_interrupt_that_was_ignored_for_a_background_job(cli: Cli) -> None:
    ignore = ("/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh")
    words = ("run", "--codex", cli.agent())
    with cli.start(*words, program=(*ignore, *ADAPTER), stdin=subprocess.PIPE) as process:
        until_listening(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(SOON) == 130
        done = cli.finish(process)
    assert done.completion == CANCELLED


@pytest.mark.fault(
    "signals", "The command starts with SIGCHLD ignored", "The completion contains the status of the agent"
)
def test_an_ignored_sigchld_does_not_hide_the_agents_status(cli: Cli) -> None:
    code = "import signal, os, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    program = (ADAPTER[0], "-c", code, *ADAPTER)
    done = cli.finish(cli.start("run", "--codex", cli.agent(ReadPrompt(), Exit(3)), "Hi.", program=program))
    assert done.status == 3


@pytest.mark.rule("C2")
@pytest.mark.fault("signals", "The command receives a signal during the first of two replays", "Both replays end")
def test_a_signal_ends_a_replay_and_those_that_would_follow(cli: Cli) -> None:
    (cli.directory / "two.jsonl").write_text('{"type":"turn.started"}\n' * 2)
    with cli.start("replay", "--interval", "100", "two.jsonl", "two.jsonl") as process:
        until_listening(process)
        process.send_signal(signal.SIGTERM)
        done = cli.finish(process)
    assert (done.status, done.completion) == (143, CANCELLED)
