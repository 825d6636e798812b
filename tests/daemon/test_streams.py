"""Test the daemon with pipes, sockets, files, devices, terminals or closed streams."""

from __future__ import annotations

import fcntl
import os
import pty
import socket
import subprocess
import tty
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.testing import ReadPrompt, WriteFacts, WriteFile, read_facts

from ..waiting import SOON
from .agents import BRIEF, HANGING, HELD, flood, messages
from .jsonrpc_rules import Line, broken_rules
from .measures import nothing_for, wakings
from .messages import CANCELLED, Message, decode, encode, run
from .run_rules import broken_run_rules
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J16", "J1")

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "1.0"}}


def start(number: int, **request: Any) -> Message:
    return {"jsonrpc": "2.0", "id": number, "method": "run/start", "params": run(f"r{number}", **request)}


def requests(*values: Message) -> list[bytes]:
    """A whole conversation's requests."""
    return [encode(value) for value in (INITIALIZE, *values)]


def finished(
    workshop: Workshop, lines: list[bytes], *options: str, **streams: Any
) -> subprocess.CompletedProcess[bytes]:
    """A daemon that was given these lines as a file, and has ended."""
    path = workshop.directory / "requests"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    words = [*workshop.command, *options]
    with path.open("rb") as stdin:
        given = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        return subprocess.run(
            words, check=False, timeout=SOON, cwd=workshop.directory, env=workshop.env, **given
        )  # fmt: skip


def check(lines: list[bytes], output: bytes) -> list[Message]:
    """The messages of an output, which must be right for these requests."""
    assert output.endswith(b"\n")
    log = [*(Line(True, line) for line in lines), *(Line(False, line) for line in output.split(b"\n")[:-1])]
    assert broken_rules(log) == []
    assert broken_run_rules(log) == []
    return [decode(line.data) for line in log if not line.sent]


@pytest.mark.rule("J10", "C9")
def test_a_file_of_requests_is_carried_out_to_its_end(workshop: Workshop) -> None:
    env = workshop.agent("brief", *BRIEF)
    lines = requests(*(start(number, env=env) for number in range(1, 6)))
    done = finished(workshop, lines, "--on-eof", "drain", "--max-runs", "2")
    assert (done.returncode, done.stderr) == (0, b"")
    told = check(lines, done.stdout)
    completions = [message["params"] for message in told if message.get("method") == "run/completed"]
    assert sorted(it["runId"] for it in completions) == [f"r{number}" for number in range(1, 6)]
    assert all(it["completion"]["turn"] == "completed" for it in completions)


@pytest.mark.rule("J10")
@pytest.mark.parametrize("append", [True, False])
def test_a_file_as_stdout_gets_every_line(workshop: Workshop, append: bool) -> None:
    output = workshop.directory / "output"
    output.write_bytes(b"before\n")
    lines = requests(start(1, env=workshop.agent("many", *messages(0), flood(2000, 500))))
    with output.open("ab" if append else "wb") as stdout:
        done = finished(workshop, lines, "--on-eof", "drain", stdout=stdout)
    assert (done.returncode, done.stderr) == (0, b"")
    written = output.read_bytes()
    assert written.startswith(b"before\n") is append
    told = check(lines, written.removeprefix(b"before\n"))
    assert sum(message.get("method") == "run/event" for message in told) == 501


@pytest.mark.rule("J10")
def test_nothing_as_stdin_is_a_supervisor_that_is_gone(workshop: Workshop) -> None:
    done = finished(workshop, [], stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.rule("J10")
@pytest.mark.fault(
    "daemon",
    "Stdin, stdout or stderr of the daemon is closed at the start",
    "It exits with status 0 and leaves no process",
)
@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_were_never_open_are_no_failure(workshop: Workshop, streams: str) -> None:
    lines = requests(start(1))
    workshop.command = ["/bin/sh", "-c", f'"$@" {streams}', "sh", *workshop.command]
    done = finished(workshop, lines, "--on-eof", "drain")
    assert (done.returncode, done.stderr) == (0, b"")
    if streams == "2>&-":
        check(lines, done.stdout)


@pytest.mark.rule("C9")
@pytest.mark.fault("daemon", "Stdout of the daemon is `/dev/full`", "It ends its runs and writes one message to stderr")
def test_a_full_device_is_told(workshop: Workshop) -> None:
    with Path("/dev/full").open("wb") as full:
        done = finished(workshop, requests(start(1, env=workshop.agent("hanging", *HANGING))), stdout=full)
    assert done.returncode == 125
    assert b"No space left on device" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_one_socket_serves_as_well_as_pipes_do(workshop: Workshop) -> None:
    daemon = over_socket(workshop)
    place = workshop.place("work")
    daemon.start("r", env=workshop.agent("held", *HELD), working_dir=str(place))
    daemon.start("noisy", env=workshop.agent("noisy", *messages(0), flood(8000, 500)))
    (place / "go").touch()
    assert daemon.completion("r")["turn"] == "completed"
    assert daemon.completion("noisy")["outcome"] == "completed"
    assert len(daemon.events("noisy")) == 501
    assert daemon.call("shutdown", mode="drain") == {}
    daemon.notify("exit")
    assert daemon.wait() == 0


def test_a_supervisor_may_take_its_time_before_it_says_something(workshop: Workshop) -> None:
    """What it says must not be taken for the end of its reading, where one socket is for both."""
    ours, theirs = socket.socketpair()
    with workshop.notified() as notified:
        daemon = workshop.supervise([], ours.fileno(), ours.detach(), stdin=theirs, stdout=theirs)
        theirs.close()
        assert notified.recv(1000) == b"READY=1"
        nothing_for(daemon, 0.2)
        daemon.initialize()
        nothing_for(daemon, 0.2)
        assert daemon.call("run/list") == {"runs": []}


def test_a_terminal_serves_for_a_person_who_tries_it(workshop: Workshop) -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    daemon = workshop.supervise([], ours, ours, stdin=theirs, stdout=theirs, start_new_session=True)
    daemon.initialize()
    nothing_for(daemon, 0.2)
    assert daemon.call("run/list") == {"runs": []}
    daemon.notify("exit")
    assert daemon.process.wait(SOON) == 0
    os.close(theirs)
    daemon.close_stdout()
    daemon.whole = True
    what = "the JSON-RPC messages of a supervisor on standard input, one a line, `initialize` first"
    daemon.told_to_a_person = f"codex-adapter: Waiting for {what}. To end the input, press Ctrl-D.\n"


@pytest.mark.rule("J10")
def test_half_of_a_socket_may_be_closed(workshop: Workshop) -> None:
    daemon = over_socket(workshop)
    daemon.start("r", env=workshop.agent("hanging", *HANGING))
    daemon.event("r")
    daemon.close_stdin()
    assert daemon.wait() == 0
    assert daemon.completion("r") == CANCELLED


@pytest.mark.rule("J10")
@pytest.mark.fault(
    "daemon", "The supervisor closes its socket, with or without unread data", "The daemon cancels the runs"
)
@pytest.mark.parametrize("noisy", [True, False])
def test_a_socket_may_be_closed(workshop: Workshop, noisy: bool) -> None:
    daemon = over_socket(workshop)
    daemon.start("r", env=workshop.agent("agent", *((*messages(0), flood(8000)) if noisy else HANGING)))
    daemon.event("r")
    daemon.close_stdout()
    daemon.close_stdin()
    assert daemon.process.wait(SOON) == 0


@pytest.mark.rule("J10")
def test_a_pipe_that_somebody_made_non_blocking_gets_every_line(workshop: Workshop) -> None:
    our_stdout, stdout = os.pipe()
    stdin, our_stdin = os.pipe()
    for end in (stdout, stdin):
        os.set_blocking(end, False)
    daemon = workshop.supervise([], our_stdin, our_stdout, stdin=stdin, stdout=stdout)
    daemon.initialize()
    # Others that share the pipe must find it as it was.
    assert fcntl.fcntl(stdout, fcntl.F_GETFL) & os.O_NONBLOCK
    os.close(stdout)
    os.close(stdin)
    daemon.start("r", env=workshop.agent("noisy", *messages(0), flood(8000, 250)))
    assert daemon.completion("r")["outcome"] == "completed"
    assert len(daemon.events("r")) == 251


def test_a_shared_pipe_stays_as_it_is(workshop: Workshop) -> None:
    our_stdout, stdout = os.pipe()
    stdin, our_stdin = os.pipe()
    daemon = workshop.supervise([], our_stdin, our_stdout, stdin=stdin, stdout=stdout)
    daemon.initialize()
    for end in (stdout, stdin):
        assert not fcntl.fcntl(end, fcntl.F_GETFL) & os.O_NONBLOCK
        os.close(end)


@pytest.mark.rule("C9")
def test_an_idle_daemon_takes_no_time(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("hanging", *HANGING))
    daemon.event("r")
    daemon.silence()
    before = wakings(daemon.pid)
    nothing_for(daemon, 1.0)
    assert wakings(daemon.pid) - before <= 5


@pytest.mark.rule("C9")
def test_an_agent_has_none_of_the_daemons_streams(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    env = workshop.agent("facts", ReadPrompt(), WriteFacts(f"{workshop.directory}/facts"), WriteFile("done"))
    daemon.start("r", env=env, working_dir=str(workshop.place("work")))
    daemon.completion("r")
    assert read_facts(workshop.directory / "facts").open_files == [0, 1, 2]


def over_socket(workshop: Workshop) -> Supervisor:
    """A daemon whose stdin and stdout are one socket."""
    ours, theirs = socket.socketpair()
    daemon = workshop.supervise([], ours.fileno(), ours.detach(), stdin=theirs, stdout=theirs)
    theirs.close()
    daemon.initialize()
    return daemon
