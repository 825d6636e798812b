"""Test signals to the daemon: all runs are cancelled, a second signal kills, and the status is 0."""

from __future__ import annotations

import contextlib
import signal
import subprocess

import pytest

from ..cli.command import until_listening
from ..waiting import SOON
from .agents import HANGING, PARENT, STUBBORN, flood, messages
from .measures import nothing_for
from .messages import CANCELLED, run
from .supervisor import Supervisor
from .workshop import Workshop

STOPPING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.mark.rule("J11", "J4")
@pytest.mark.fault(
    "daemon",
    "The daemon receives SIGTERM, SIGINT or SIGHUP",
    "It cancels all runs, reports their completions and exits with status 0",
)
@pytest.mark.parametrize("number", STOPPING)
def test_a_signal_cancels_all_runs_and_it_is_still_told(workshop: Workshop, number: signal.Signals) -> None:
    daemon = workshop.daemon("--max-runs", "2")
    env = workshop.agent("parent", *PARENT)
    for name in ("a", "b"):
        daemon.start(name, env=env, working_dir=str(workshop.place(name)))
        daemon.event(name)
    daemon.start("waiting")
    daemon.kill(number)
    assert daemon.wait() == 0
    assert [daemon.completion(name) for name in ("a", "b", "waiting")] == [CANCELLED] * 3


def with_stubborn_runs(workshop: Workshop) -> Supervisor:
    """A daemon with three runs, `a`, `b` and `c`, whose agents ignore signals."""
    daemon = workshop.daemon()
    env = workshop.agent("stubborn", *STUBBORN)
    for name in ("a", "b", "c"):
        daemon.start(name, env=env)
        daemon.event(name)
    return daemon


@pytest.mark.rule("J11", "E4", "K4")
@pytest.mark.fault(
    "daemon", "The daemon receives two signals, and its agents ignore signals", "It kills the agents at once"
)
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_goes_at_once_to_the_kill(workshop: Workshop, second: signal.Signals) -> None:
    # On this clock the steps of ending take minutes when nothing hurries them.
    workshop.slow_clock()
    daemon = with_stubborn_runs(workshop)
    daemon.kill(signal.SIGTERM)
    daemon.kill(second)
    # Twice the same may arrive as one; or as two, and then it may be gone by now.
    if second == signal.SIGTERM:
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.process.wait(0.3)
        daemon.process.send_signal(second)
    assert daemon.wait() == 0
    assert [daemon.completion(name) for name in ("a", "b", "c")] == [CANCELLED] * 3


@pytest.mark.rule("J11", "K4")
def test_agents_that_ignore_one_signal_are_killed_in_time(workshop: Workshop) -> None:
    daemon = with_stubborn_runs(workshop)
    daemon.kill(signal.SIGTERM)
    assert daemon.wait() == 0
    assert [daemon.completion(name) for name in ("a", "b", "c")] == [CANCELLED] * 3


@pytest.mark.rule("J11", "K4")
@pytest.mark.fault(
    "daemon",
    "The daemon receives a signal after a cancel request, and the agent ignores both",
    "The runs end by the normal steps",
)
def test_a_signal_after_a_cancel_is_the_first_signal(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("stubborn", *STUBBORN))
    daemon.event("r")
    shutdown = daemon.request("shutdown", mode="cancel")
    daemon.call("run/list")
    daemon.kill(signal.SIGTERM)
    assert daemon.wait() == 0
    assert daemon.result(shutdown) == {}
    assert daemon.completion("r") == CANCELLED


@pytest.mark.rule("J11")
@pytest.mark.parametrize("initialize", [True, False])
def test_a_signal_ends_an_idle_daemon(workshop: Workshop, initialize: bool) -> None:
    daemon = workshop.daemon(initialize=initialize)
    until_listening(daemon.process)
    daemon.kill(signal.SIGTERM)
    assert daemon.wait() == 0


@pytest.mark.rule("J11", "E4")
@pytest.mark.fault(
    "daemon",
    "The daemon receives a signal while its output is not read",
    "It writes whole lines and all completions when a reader returns",
)
def test_a_signal_while_nobody_reads_is_told_later(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("noisy", *messages(0), flood(8000)))
    nothing_for(daemon, 0.3)
    daemon.kill(signal.SIGTERM)
    nothing_for(daemon, 0.3)
    assert daemon.wait() == 0
    assert daemon.completion("r") == CANCELLED


@pytest.mark.rule("J11", "E4")
@pytest.mark.fault(
    "daemon", "The daemon receives two signals while its output is not read", "It exits without its reader"
)
def test_a_second_signal_waits_for_no_reader(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("noisy", *messages(0), flood(8000)))
    nothing_for(daemon, 0.3)
    daemon.kill(signal.SIGTERM)
    daemon.kill(signal.SIGHUP)
    daemon.whole = False
    assert daemon.process.wait(SOON) == 0


@pytest.mark.rule("J11", "E4")
def test_an_ignored_hangup_stays_ignored(workshop: Workshop) -> None:
    daemon = workshop.daemon(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    until_listening(daemon.process)
    daemon.kill(signal.SIGHUP)
    daemon.start("r")
    assert daemon.completion("r")["outcome"] == "completed"


@pytest.mark.rule("J11")
@pytest.mark.fault(
    "daemon", "A request to start a run arrives together with a signal", "The daemon answers it and no process survives"
)
def test_a_run_that_starts_while_a_signal_comes_is_answered(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    env = workshop.agent("hanging", *HANGING)
    id_ = daemon.request("run/start", run("r", env=env))
    daemon.kill(signal.SIGTERM)
    assert daemon.wait() == 0
    # The signal may have come before it was read.
    told = [message for message in daemon.told if message.get("id") == id_]
    if not told:
        daemon.whole = False
    elif "result" in told[0]:
        assert daemon.completion("r") == CANCELLED


@pytest.mark.rule("J10", "J11")
@pytest.mark.fault(
    "daemon", "The daemon receives a signal while it drains the runs of a supervisor that left", "It cancels the runs"
)
def test_a_signal_ends_what_is_drained(workshop: Workshop) -> None:
    daemon = workshop.daemon("--on-eof", "drain")
    daemon.start("r", env=workshop.agent("hanging", *HANGING))
    daemon.event("r")
    daemon.close_stdin()
    nothing_for(daemon, 0.2)
    daemon.kill(signal.SIGTERM)
    assert daemon.wait() == 0
    assert daemon.completion("r") == CANCELLED
