"""Test that no run survives the end of the supervisor or the daemon, and that the status is 0."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from codex_adapter.testing import PrintJson, ReadPrompt, WaitFor, WriteFile
from codex_adapter.testing.thread_lines import thread_started, turn_completed

from ..cli.command import ADAPTER
from ..needs import missing
from ..waiting import SOON, until
from .agents import HANGING, HELD, PARENT, flood, messages
from .measures import nothing_for
from .messages import CANCELLED, encode, run
from .supervisor import Supervisor
from .workshop import Workshop


@pytest.mark.rule("J10", "J4")
@pytest.mark.fault(
    "daemon",
    "Stdin ends while runs are active",
    "The daemon cancels them, reports their completions and exits with status 0",
)
def test_the_end_of_stdin_cancels_the_runs(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "2")
    env = workshop.agent("parent", *PARENT)
    for name in ("a", "b"):
        daemon.start(name, env=env, working_dir=str(workshop.place(name)))
        daemon.event(name)
    daemon.start("waiting")
    daemon.close_stdin()
    assert daemon.wait() == 0
    assert [daemon.completion(name) for name in ("a", "b", "waiting")] == [CANCELLED] * 3


@pytest.mark.rule("J10", "C9")
@pytest.mark.fault(
    "daemon",
    "Stdin ends while runs are active, with `--on-eof drain`",
    "The runs finish and the daemon exits with status 0",
)
def test_the_end_of_stdin_lets_the_runs_finish_where_it_is_to_drain(workshop: Workshop) -> None:
    daemon, place = workshop.daemon("--max-runs", "1", "--on-eof", "drain"), workshop.place("work")
    env = workshop.agent("held", *HELD)
    for name in ("live", "waiting"):
        daemon.start(name, env=env, working_dir=str(place))
    daemon.close_stdin()
    (place / "go").touch()
    assert daemon.wait() == 0
    assert [daemon.completion(name)["turn"] for name in ("live", "waiting")] == ["completed"] * 2


@pytest.mark.rule("J10", "C9")
@pytest.mark.parametrize("on_eof", ["cancel", "drain"])
def test_what_came_before_the_end_of_stdin_is_answered(workshop: Workshop, on_eof: str) -> None:
    daemon = workshop.daemon("--on-eof", on_eof)
    ids = [daemon.request("run/start", run(f"r{number}")) for number in range(3)]
    last = daemon.request("no/such")
    daemon.close_stdin()
    assert daemon.wait() == 0
    assert [daemon.result(id_)["runId"] for id_ in ids] == ["r0", "r1", "r2"]
    assert daemon.answer(last)["error"]["code"] == -32601
    assert all(daemon.completion(f"r{number}") for number in range(3))


@pytest.mark.rule("J10", "J3")
def test_the_end_of_stdin_while_a_shutdown_drains_cancels_and_answers(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("hanging", *HANGING))
    id_ = daemon.request("shutdown", mode="drain")
    daemon.close_stdin()
    assert daemon.wait() == 0
    assert daemon.result(id_) == {}
    assert daemon.completion("r") == CANCELLED


@pytest.mark.rule("J10")
@pytest.mark.parametrize("initialize", [True, False])
def test_the_end_of_stdin_ends_an_idle_daemon(workshop: Workshop, initialize: bool) -> None:
    daemon = workshop.daemon(initialize=initialize)
    daemon.close_stdin()
    assert daemon.wait() == 0


@pytest.mark.rule("J10")
@pytest.mark.fault(
    "daemon",
    "The reader closes stdout while runs are active",
    "The daemon cancels them and exits with status 0 without a traceback",
)
@pytest.mark.parametrize("noisy", [True, False])
def test_closing_stdout_cancels_the_runs(workshop: Workshop, noisy: bool) -> None:
    daemon = workshop.daemon()
    steps = (*messages(0), flood(8000)) if noisy else PARENT
    daemon.start("r", env=workshop.agent("agent", *steps), working_dir=str(workshop.place("work")))
    daemon.event("r")
    daemon.close_stdout()
    assert daemon.process.wait(SOON) == 0


@pytest.mark.rule("J10", "C9", "D3")
@pytest.mark.fault("daemon", "The reader closes stdout while runs are active, with `--on-eof drain`", "The runs finish")
@pytest.mark.parametrize("noisy", [True, False])
def test_closing_stdout_lets_the_runs_finish_where_it_is_to_drain(workshop: Workshop, noisy: bool) -> None:
    daemon, place = workshop.daemon("--on-eof", "drain"), workshop.place("work")
    noise = (flood(2000, 2000),) if noisy else ()
    steps = (ReadPrompt(), PrintJson(thread_started()), WaitFor("go"), *noise, PrintJson(turn_completed()))
    daemon.start("r", env=workshop.agent("agent", *steps, WriteFile("done")), working_dir=str(place))
    daemon.event("r")
    daemon.close_stdout()
    (place / "go").touch()
    assert daemon.process.wait(SOON) == 0
    assert (place / "done").exists()


@pytest.mark.rule("J10")
def test_closing_stdout_ends_an_idle_daemon(daemon: Supervisor) -> None:
    daemon.close_stdout()
    assert daemon.process.wait(SOON) == 0


@pytest.mark.rule("J10")
@pytest.mark.fault(
    "daemon",
    "Stdin and stdout close together, or during a flood that is not read",
    "The daemon exits with status 0 and leaves no process",
)
@pytest.mark.parametrize("on_eof", ["cancel", "drain"])
def test_both_ends_may_go_while_nobody_read(workshop: Workshop, on_eof: str) -> None:
    daemon = workshop.daemon("--on-eof", on_eof)
    daemon.start("r", env=workshop.agent("noisy", *messages(0), flood(8000, 1000)))
    nothing_for(daemon, 0.3)
    daemon.close_stdin()
    nothing_for(daemon, 0.3)
    daemon.close_stdout()
    assert daemon.process.wait(SOON) == 0


@pytest.mark.rule("J10")
@pytest.mark.fault(
    "daemon", "Stdin ends while stdout is not read", "The daemon writes everything when a reader returns"
)
def test_the_end_of_stdin_while_nobody_reads_is_told_later(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    env = workshop.agent("noisy", *messages(0), flood(8000))
    for number in range(3):
        daemon.start(f"r{number}", env=env)
    nothing_for(daemon, 0.3)
    daemon.close_stdin()
    nothing_for(daemon, 0.3)
    assert daemon.wait() == 0
    for number in range(3):
        assert daemon.completion(f"r{number}") == CANCELLED


@pytest.mark.rule("J10", "J11", "N2")
@pytest.mark.fault("daemon", "SIGKILL ends the supervisor", "The daemon and its runs end within seconds")
def test_a_supervisor_that_is_killed_leaves_nothing(workshop: Workshop) -> None:
    env = workshop.agent("parent", *PARENT)
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "1.0"}},
        {"jsonrpc": "2.0", "id": 2, "method": "run/start", "params": run("r", env=env)},
    ]
    text = b"".join(encode(line) + b"\n" for line in lines)
    program = (
        "import subprocess, sys\n"
        f"daemon = subprocess.Popen({[*ADAPTER, 'serve', '--codex', workshop.binary]!r}, stdin=-1, stdout=-1)\n"
        f"daemon.stdin.write({text!r})\n"
        "daemon.stdin.flush()\n"
        "while b'run/event' not in daemon.stdout.readline(): pass\n"
        "print(daemon.pid, flush=True)\n"
        "daemon.wait()\n"
    )
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, cwd=workshop.directory, env=workshop.env, stdout=subprocess.PIPE) as supervisor:
        try:
            assert supervisor.stdout is not None
            daemon = os.pidfd_open(int(supervisor.stdout.readline()))
            assert len(workshop.survivors.now()) >= 4
        finally:
            supervisor.kill()
        assert select.select([daemon], [], [], SOON)[0]
        os.close(daemon)
    assert workshop.survivors.soon() == []


@pytest.mark.rule("J11", "N2")
@pytest.mark.fault("daemon", "SIGKILL ends the daemon", "No process of its runs survives")
def test_a_daemon_that_is_killed_leaves_nothing(workshop: Workshop) -> None:
    daemon = workshop.daemon(initialize=False)
    if daemon.initialize()["containment"] == "process_group":
        missing("namespaces")
    env = workshop.agent("parent", *PARENT)
    for name in ("a", "b"):
        daemon.start(name, env=env, working_dir=str(workshop.place(name)))
        daemon.event(name)
    daemon.kill()
    daemon.wait()
    assert workshop.survivors.soon() == []


@pytest.mark.rule("J10")
def test_nothing_of_a_daemon_is_a_child_that_nobody_waited_for(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    for number in range(3):
        daemon.start(f"r{number}")
        daemon.completion(f"r{number}")
    children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children")
    until(lambda: children.read_text() == "")
