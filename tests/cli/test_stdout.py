"""Test standard output that is closed, full, slow, shared or missing: whole lines and no traceback."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codex_adapter.testing import Exit, PrintJson, ReadPrompt, Repeat, Step, WaitFor, WriteFile
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_failed, turn_started

from ..waiting import SOON
from .command import ADAPTER, Cli, Done, until_full
from .slow_clock import SLOW_CLOCK

MESSAGE = '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"%s"}}'
SHELL = ("/bin/sh", "-c")
OTHERS = 4
"""The records of a whole turn besides those of its messages: three events and the completion."""


def many(size: int) -> Repeat:
    """Much more than any pipe holds, in lines of some size."""
    return Repeat(MESSAGE % ("x" * size), count=2_000_000 // size)


def whole(message: Step) -> tuple[Step, ...]:
    """A turn from its start to its end, of these messages."""
    return ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()), message, PrintJson(turn_completed())


@pytest.mark.fault(
    "consumer",
    "The reader of stdout closes it after one record while the agent still prints",
    "The adapter drains the output and exits with the agent's status",
)
@pytest.mark.rule("E2", "D3")
def test_a_reader_that_leaves_is_no_failure_and_the_agent_goes_on_to_its_end(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), PrintJson(thread_started()), WaitFor("go"), many(100), WriteFile("done"), Exit(7))
    with cli.start("run", "--codex", agent, "Hi.") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b'{"type":"event","seq":0')
        process.stdout.close()
        process.stdout = None
        (cli.directory / "go").touch()
        done = cli.finish(process)
    assert (done.status, done.stderr) == (7, "")
    assert (cli.directory / "done").exists()


@pytest.mark.rule("E1", "E2", "D3")
@pytest.mark.parametrize(("end", "status"), [(turn_completed(), 0), (turn_failed("no"), 1)])
def test_the_status_tells_whether_the_run_succeeded_although_its_reader_left(
    cli: Cli, end: dict[str, Any], status: int
) -> None:
    begin = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()))
    agent = cli.agent(*begin, WaitFor("go"), many(100), PrintJson(end))
    with cli.start("run", "--codex", agent, "Hi.") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b'{"type":"event","seq":0')
        process.stdout.close()
        process.stdout = None
        (cli.directory / "go").touch()
        done = cli.finish(process)
    assert (done.status, done.stderr) == (status, "")


@pytest.mark.fault(
    "consumer",
    "Stdin, stdout and stderr are closed at the start",
    "The run completes with the agent's status",
)
@pytest.mark.rule("E2")
@pytest.mark.parametrize("streams", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_were_never_open_are_no_failure(cli: Cli, streams: str) -> None:
    agent = cli.agent(ReadPrompt(), many(100), WriteFile("done"), Exit(7))
    done = cli.finish(cli.start(*ADAPTER, "run", "--codex", agent, "Hi.", program=(*SHELL, f'"$@" {streams}', "sh")))
    assert done == Done(7, b"", "")
    assert (cli.directory / "done").exists()


@pytest.mark.fault(
    "consumer", "Stdout is `/dev/full`", "The agent runs to its end; the status is 125 with one error message"
)
@pytest.mark.rule("W3")
def test_a_full_device_is_told_and_the_agent_goes_on_to_its_end(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), many(100), WriteFile("done"))
    with Path("/dev/full").open("wb") as full:
        done = cli.finish(cli.start("run", "--codex", agent, "Hi.", stdout=full))
    assert done.status == 125
    assert "No space left on device" in done.complaint
    assert (cli.directory / "done").exists()


@pytest.mark.rule("W3")
def test_a_disk_that_fills_up_keeps_whole_lines(cli: Cli) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_001, 50_001))

    path = cli.directory / "out"
    with path.open("wb") as file:
        process = cli.start("replay", "-", stdin=subprocess.PIPE, stdout=file, preexec_fn=limit)
        done = cli.finish(process, (MESSAGE % ("x" * 700) + "\n").encode() * 500)
    assert done.status == 125
    assert "File too large" in done.complaint
    written = Done(0, path.read_bytes(), "")
    assert [record["seq"] for record in written.records] == list(range(len(written.records)))
    assert 40_000 < len(written.stdout) < 50_001


@pytest.mark.fault(
    "consumer", "The reader of stdout pauses for longer than every time limit", "No record is lost and no limit expires"
)
@pytest.mark.rule("E3", "D4")
def test_a_reader_that_is_late_loses_nothing_and_lets_no_time_limit_pass(cli: Cli) -> None:
    agent = cli.agent(*whole(many(100)))
    words = ("--timeout", "4", "--idle-timeout", "3", "Hi.")
    cli.env["SKIP"] = str(cli.directory / "skipped")
    with cli.start("run", "--codex", agent, *words, program=SLOW_CLOCK) as process:
        assert process.stdout is not None
        until_full(process.stdout.fileno())
        done = cli.finish(process)
    assert (cli.directory / "skipped").exists(), "it must wait for its reader"
    assert done.status == 0
    assert done.completion["outcome"] == "completed"
    assert len(done.records) == 20_000 + OTHERS


@pytest.mark.rule("E3", "W3")
@pytest.mark.parametrize("size", [100, 5_000, 60_000])
def test_a_shared_pipe_stays_as_it_is_and_gets_every_line(cli: Cli, size: int) -> None:
    reader, writer = os.pipe()
    agent = cli.agent(*whole(many(size)))
    with cli.start("run", "--codex", agent, "Hi.", stdout=writer) as process, os.fdopen(reader, "rb") as stdout:
        first = stdout.readline()
        assert not fcntl.fcntl(writer, fcntl.F_GETFL) & os.O_NONBLOCK
        os.close(writer)
        done = Done(0, first + stdout.read(), "")
        assert process.wait(SOON) == 0
    assert done.completion["outcome"] == "completed"
    assert len(done.records) == 2_000_000 // size + OTHERS


@pytest.mark.fault("consumer", "Another process makes stdout non-blocking", "The command writes every line completely")
@pytest.mark.rule("E3", "W3")
def test_a_pipe_that_somebody_made_non_blocking_gets_every_line(cli: Cli) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with cli.start("run", "--codex", cli.agent(*whole(many(5_000))), "Hi.", stdout=writer) as process:
        os.close(writer)
        with os.fdopen(reader, "rb") as stdout:
            done = Done(0, stdout.read(), "")
        assert process.wait(SOON) == 0
    assert len(done.records) == 400 + OTHERS


@pytest.mark.rule("E3", "W3")
def test_a_socket_gets_every_line(cli: Cli) -> None:
    ours, theirs = socket.socketpair()
    with cli.start("run", "--codex", cli.agent(*whole(many(5_000))), "Hi.", stdout=theirs) as process:
        theirs.close()
        with ours, ours.makefile("rb") as stdout:
            done = Done(0, stdout.read(), "")
        assert process.wait(SOON) == 0
    assert len(done.records) == 400 + OTHERS


@pytest.mark.rule("W3")
@pytest.mark.parametrize("redirection", [">", ">>"])
def test_a_file_gets_every_line(cli: Cli, redirection: str) -> None:
    (cli.directory / "out").write_text("before\n")
    agent = cli.agent(*whole(PrintJson(agent_message("item_0", "x"))))
    program = (*SHELL, f'"$@" {redirection} out', "sh")
    assert cli.finish(cli.start(*ADAPTER, "run", "--codex", agent, "Hi.", program=program)).status == 0
    written = (cli.directory / "out").read_bytes()
    assert written.startswith(b"before\n") is (redirection == ">>")
    assert len(Done(0, written.removeprefix(b"before\n"), "").records) == 1 + OTHERS


@pytest.mark.fault(
    "consumer", "A library or a child process prints to the command's stdout", "The text appears on stderr"
)
@pytest.mark.rule("C7")
def test_whatever_else_prints_does_not_print_among_the_records(cli: Cli) -> None:
    code = """
import os, sys, trio, warnings, logging
from codex_adapter.cli.output import standard_output
async def main(output):
    await output.write(b"record\\n")
with standard_output() as output:
    print("a stray print", flush=True)
    os.system("echo a stray program")
    os.write(1, b"a stray write\\n")
    trio.run(main, output)
print("after")
"""
    done = cli.finish(cli.start("-c", code, program=(ADAPTER[0],)))
    assert done.stdout == b"record\nafter\n"
    assert done.stderr.splitlines() == ["a stray print", "a stray program", "a stray write"]


@pytest.mark.rule("C7", "X1")
def test_nothing_of_the_run_is_on_standard_error(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), PrintJson(agent_message("item_0", "x")), Repeat("no JSON at all", count=3), Exit(3))
    done = cli.run("run", "--codex", agent, "Hi.")
    assert (done.status, done.stderr) == (3, "")
    assert b"no JSON" not in done.stdout


@pytest.mark.fault(
    "consumer", "The reader of another command closes its stdout", "The command exits without an error message"
)
@pytest.mark.rule("C7", "E1", "E2")
@pytest.mark.parametrize("command", [("schema",), ("doctor",), ("replay", "recorded.jsonl")])
def test_other_commands_bear_a_reader_that_leaves(cli: Cli, command: tuple[str, ...]) -> None:
    begin, end = (msgspec.json.encode(line).decode() + "\n" for line in (turn_started(), turn_completed()))
    (cli.directory / "recorded.jsonl").write_text(begin + (MESSAGE % "x" + "\n") * 5000 + end)
    reader, writer = os.pipe()
    os.close(reader)
    cli.env["CODEX_BINARY"] = cli.agent()
    done = cli.finish(cli.start(*command, stdout=writer))
    os.close(writer)
    assert (done.status, done.stderr) == (0, "")
