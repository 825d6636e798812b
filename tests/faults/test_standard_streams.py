"""Test supervisors that leave at any byte, never read, die, or send no input: the run completes."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path

import msgspec
import pytest

from codex_adapter.testing import Exit, PrintJson, ReadPrompt, Repeat, WaitFor, WriteFile
from codex_adapter.testing.thread_lines import thread_started

from ..cli.command import ADAPTER, Cli
from ..runtime.agents import WHOLE_TURN
from ..runtime.scripted import say
from ..waiting import SOON
from .forked_cli import Fork

PROGRAM = Path(__file__).with_name("forked_cli.py")
every_byte = pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.nightly)])
MANY = Repeat(say("x" * 100).decode().rstrip("\n"), count=20_000)


def forks(cli: Cli, how: str, step: int) -> list[Fork]:
    """A short run, once for each of these numbers of bytes after which its stdout fails; the first did not fail."""
    recorded = cli.directory / "recorded"
    recorded.write_bytes(say("hello") + b'{"type":"turn.completed"}\n')
    with cli.start(str(PROGRAM), how, str(recorded), str(step), program=(sys.executable,)) as process:
        stdout, stderr = process.communicate(timeout=20 * SOON)
    assert (process.returncode, stderr) == (0, b"")
    return [msgspec.json.decode(line, type=Fork) for line in stdout.splitlines()]


@pytest.mark.fault("consumer", "The reader of stdout closes it at any byte", "The run completes with its own status")
@pytest.mark.rule("E2", "D3", "C7")
@every_byte
def test_a_reader_may_leave_at_any_byte(cli: Cli, step: int) -> None:
    (_, _, _, whole), *left = forks(cli, "left", step)
    assert len(left) > len(whole) / step
    assert [fork for fork in left if tuple(fork[1:3]) != (7, "") or fork[3] != whole[: fork[0]]] == []


@pytest.mark.fault(
    "consumer", "The disk behind stdout fills up at any byte", "Whole lines remain, and the command reports the loss"
)
@pytest.mark.rule("W3", "E1")
@every_byte
def test_a_disk_may_fill_up_at_any_byte(cli: Cli, step: int) -> None:
    (_, status, _, whole), *filled = forks(cli, "full", step)
    assert status == 7
    for count, status, stderr, stdout in filled[:-1]:
        assert (status, stderr.count("\n"), "File too large" in stderr) == (125, 1, True), count
        assert stdout == whole[: whole.rfind("\n", 0, count) + 1]
    assert filled[-1][1:] == (7, "", whole)


@pytest.mark.fault("consumer", "The reader of a full stdout pipe never reads and closes it", "The run completes")
@pytest.mark.rule("E2", "E3", "D4")
def test_a_full_pipe_that_is_closed_unread(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), MANY, WriteFile("done"), Exit(7))
    with cli.start("run", "--codex", agent, "--timeout", "600", "Hi.") as process:
        alive = os.pidfd_open(process.pid)
        assert select.select([alive], [], [], 0.7) == ([], [], [])
        os.close(alive)
        assert not (cli.directory / "done").exists()
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        done = cli.finish(process)
    assert (done.status, done.stderr) == (7, "")
    assert (cli.directory / "done").exists()


@pytest.mark.fault(
    "consumer", "A signal kills the supervisor during the run", "The run completes without an error message"
)
@pytest.mark.rule("E2", "D3")
def test_a_killed_supervisor_is_a_reader_that_has_left(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), PrintJson(thread_started()), WaitFor("go"), MANY, WriteFile("done"))
    supervisor = """
import subprocess, sys
with open("stderr", "wb") as stderr:
    adapter = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=stderr)
adapter.stdout.readline()
print(adapter.pid, flush=True)
adapter.stdout.readline()
"""
    program = (sys.executable, "-c", supervisor, *ADAPTER)
    with cli.start("run", "--codex", agent, "Hi.", program=program, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        adapter = os.pidfd_open(int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        process.wait(SOON)
    (cli.directory / "go").touch()
    assert select.select([adapter], [], [], SOON) == ([adapter], [], [])
    os.close(adapter)
    assert (cli.directory / "done").exists()
    assert (cli.directory / "stderr").read_bytes() == b""


@pytest.mark.rule("C1", "C2", "E1", "E5", "Q1", "W3")
@pytest.mark.parametrize(
    ("words", "redirection", "status"),
    [
        pytest.param(
            ("run", "--codex", "AGENT", "-"),
            "<&-",
            2,
            marks=pytest.mark.fault(
                "consumer", "Stdin should contain the prompt and is closed", "The command refuses it with status 2"
            ),
        ),
        pytest.param(
            ("run", "--codex", "AGENT", "-"),
            "<garbage",
            2,
            marks=pytest.mark.fault(
                "consumer", "Stdin should contain the prompt and is not UTF-8", "The command refuses it with status 2"
            ),
        ),
        pytest.param(
            ("run", "--codex", "AGENT", "--request", "-"),
            "<garbage",
            2,
            marks=pytest.mark.fault(
                "consumer",
                "Stdin should contain the request and contains garbage",
                "The command refuses it with status 2",
            ),
        ),
        pytest.param(
            ("replay", "-"),
            "<&-",
            None,
            marks=pytest.mark.fault(
                "consumer",
                "Stdin should contain a recording and is closed",
                "The replay has no events, or the command refuses it",
            ),
        ),
        pytest.param(
            ("replay", "-"),
            "<garbage",
            1,
            marks=pytest.mark.fault(
                "consumer", "Stdin should contain a recording and contains garbage", "Each line yields one error"
            ),
        ),
        pytest.param(
            ("run", "--codex", "AGENT", "Hi."),
            "<&-",
            0,
            marks=pytest.mark.fault("consumer", "Stdin is closed and the command does not need it", "The run succeeds"),
        ),
    ],
)
def test_standard_input_that_is_none(cli: Cli, words: tuple[str, ...], redirection: str, status: int | None) -> None:
    (cli.directory / "garbage").write_bytes(b"\xff\xfe\0canary\n" * 3)
    agent = cli.agent(ReadPrompt(), WriteFile("started"), *WHOLE_TURN)
    program = ("/bin/sh", "-c", f'"$@" {redirection}', "sh", *ADAPTER)
    with cli.start(*(agent if word == "AGENT" else word for word in words), program=program) as process:
        done = cli.finish(process)
    assert done.status in ((1, 2) if status is None else (status,))
    assert len(done.stderr.splitlines()) <= 1
    assert "canary" not in done.stderr + done.stdout.decode()
    assert (cli.directory / "started").exists() is (words[0] == "run" and status == 0)
    if done.stdout:
        assert done.completion["outcome"] == ("failed" if done.status == 2 else "completed")


@pytest.mark.fault(
    "consumer",
    "Standard error is a full pipe or terminal without a reader",
    "A command that fails still exits",
)
@pytest.mark.rule("E4", "E5")
@pytest.mark.parametrize("kind", ["pipe", "terminal"])
@pytest.mark.parametrize(
    "words", [("view", "/nowhere"), ("run", "--timeout", "-1", "Hi."), ("serve", "--keep-days", "0")]
)
def test_a_standard_error_that_is_full_holds_up_no_failure(cli: Cli, kind: str, words: tuple[str, ...]) -> None:
    reader, writer = os.pipe() if kind == "pipe" else pty.openpty()
    if kind == "terminal":
        termios.tcflow(writer, termios.TCOOFF)
    else:
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while os.write(writer, bytes(4096)):
                pass
        os.set_blocking(writer, True)
    with cli.start(*words, stderr=writer, stdin=subprocess.DEVNULL) as process:
        assert process.wait(SOON) in (2, 125)
    os.close(reader)
    os.close(writer)
