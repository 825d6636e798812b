"""Test how turns over `serve` end with their daemon, or when their supervisor leaves."""

from __future__ import annotations

import fcntl
import signal
import termios
import time
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from tests.widths import crossed

from ...daemon.messages import Refused, encode
from ...daemon.workshop import Workshop
from ...runtime.survivors import Living
from ...waiting import SOON
from .control_plane import ControlPlane
from .service_agents import ENDLESS, FLOOD, HANGING, HELD

pytestmark = pytest.mark.rule("U12")


def agents(plane: ControlPlane) -> list[Living]:
    """The processes of turns."""
    return [process for process in plane.workshop.survivors.now() if process.pid != plane.daemon.pid]


def read_nothing(plane: ControlPlane) -> None:
    """Until the daemon can hardly write any more."""
    pipe = plane.daemon.stdout
    unread = array("i", [0])
    deadline = time.monotonic() + SOON
    while unread[0] < fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) * 0.9:
        assert time.monotonic() < deadline, unread
        fcntl.ioctl(pipe, termios.FIONREAD, unread)


def _leave(plane: ControlPlane) -> None:
    plane.daemon.close_stdin()


def _exit(plane: ControlPlane) -> None:
    plane.daemon.notify("exit")


def _terminate(plane: ControlPlane) -> None:
    plane.daemon.kill(signal.SIGTERM)


def _shut_down(plane: ControlPlane) -> None:
    plane.daemon.request("shutdown", mode="cancel")
    plane.daemon.close_stdin()


@pytest.mark.rule("U2", "J2", "J10", "J11")
@pytest.mark.parametrize(
    ("end", "steps"),
    crossed({"leave": _leave, "exit": _exit, "terminate": _terminate, "shut down": _shut_down}, ENDLESS),
)
def test_a_turn_is_cancelled_with_the_daemon_and_leaves_nothing(
    workshop: Workshop, end: Callable[[ControlPlane], None], steps: tuple[Any, ...]
) -> None:
    plane = ControlPlane(workshop, "--max-runs", "1")
    under_way = plane.begin("under way", "a", env=workshop.agent("steps", *steps))
    waiting = plane.begin("waiting", "b")
    plane.daemon.receive_until(lambda: len(plane.events("under way")) > 2)
    end(plane)
    assert plane.daemon.wait() == 0
    for id_ in (under_way, waiting):
        with pytest.raises(Refused) as refused:
            plane.daemon.result(id_)
        assert (refused.value.code, refused.value.data) == (-32010, {"kind": "cancelled"})
    events = plane.events("under way")
    assert [event["seq"] for event in events] == [*range(1, len(events) + 1)]
    assert events[-1]["type"] != "complete"
    assert plane.events("waiting") == []


def _cancel(plane: ControlPlane) -> None:
    plane.daemon.write(encode({"jsonrpc": "2.0", "method": "turns/cancel", "params": {"externalRunId": "x"}}) + b"\n")


@pytest.mark.rule("U2", "J10", "J11")
@pytest.mark.parametrize("end", [_cancel, _leave, _terminate])
@pytest.mark.fault("turns", "The daemon ends while the events of its turns are not read", "The agents end")
def test_agents_end_though_nobody_reads_what_they_have_said(
    plane: ControlPlane, end: Callable[[ControlPlane], None]
) -> None:
    flooding = [plane.begin("x", name, env=plane.workshop.agent("flood", *FLOOD)) for name in "abc"]
    plane.daemon.receive_until(lambda: len(plane.events("x")) > 20)
    read_nothing(plane)
    end(plane)
    deadline = time.monotonic() + SOON
    while agents(plane):
        assert time.monotonic() < deadline
    for id_ in flooding:
        with pytest.raises(Refused) as refused:
            plane.daemon.result(id_)
        assert refused.value.data == {"kind": "cancelled"}


@pytest.mark.rule("J10")
@pytest.mark.parametrize("steps", [HANGING, FLOOD], ids=["hanging", "flood"])
@pytest.mark.fault(
    "turns", "The supervisor leaves during a turn", "The daemon cancels the turn and no process survives"
)
def test_a_turn_whose_reader_leaves_is_cancelled(plane: ControlPlane, steps: tuple[Any, ...]) -> None:
    plane.begin(env=plane.workshop.agent("steps", *steps))
    plane.daemon.receive_until(lambda: len(plane.events("run-1")) > 2)
    plane.daemon.close_stdout()
    assert plane.daemon.process.wait(60) == 0


@pytest.mark.rule("J2", "J3")
def test_shutdown_waits_for_the_turns_under_way_and_refuses_others(plane: ControlPlane) -> None:
    held = plane.begin(env=plane.workshop.agent("held", *HELD))
    shutdown = plane.daemon.request("shutdown", mode="drain")
    for method in ("turns/run", "turns/describe"):
        where: dict[str, Any] = plane.turn("another") if method == "turns/run" else {"aspHome": "/x", "spec": {}}
        refused = plane.daemon.refusal(method, where)
        assert (refused.code, refused.data) == (-32010, {"kind": "shutting_down"})
    assert plane.daemon.silence() == []
    (plane.cwd / "go").touch()
    assert plane.end(held)[0]["result"]["success"] is True
    assert plane.daemon.result(shutdown) == {}


@pytest.mark.rule("J10")
def test_a_daemon_that_drains_finishes_the_turns_of_who_left(workshop: Workshop) -> None:
    plane = ControlPlane(workshop, "--on-eof", "drain")
    held = plane.begin(env=workshop.agent("held", *HELD))
    plane.daemon.receive_until(lambda: len(plane.events("run-1")) > 2)
    plane.daemon.close_stdin()
    (plane.cwd / "go").touch()
    assert plane.daemon.wait() == 0
    assert plane.end(held)[0]["result"]["success"] is True
