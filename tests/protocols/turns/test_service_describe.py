"""Test `turns/describe` over `serve`, with MCP servers that answer and servers that do not."""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

import pytest

from codex_adapter.testing import MCP_SERVER

from ...daemon.messages import Refused
from .control_plane import ControlPlane
from .service_agents import served

pytestmark = pytest.mark.rule("U11", "U12")

TOOLS = ("echo", "fail", "rpcerror", "structured", "image", "large", "slow", "never", "exit", "destructive")
SECRET = "sk-do-not-tell"


def scripted(mode: str = "ok") -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-I", "-S", MCP_SERVER, mode], "env": {"TOKEN": SECRET}}


def shell(script: str) -> dict[str, Any]:
    return {"command": "/bin/sh", "args": ["-c", script], "env": {"TOKEN": SECRET}}


BROKEN = {
    "dies": scripted("die"),
    "crashes": shell("kill -9 $$"),
    "missing": {"command": "/nonexistent/program"},
    "babbles": shell("yes"),
    "tells": shell("echo $TOKEN >&2; echo $TOKEN; exit 1"),
    "deaf": {"url": "http://127.0.0.1:1/mcp"},
}


def test_tools_are_those_of_the_servers_and_who_does_not_answer_is_named(plane: ControlPlane) -> None:
    where = served(plane, good=scripted(), **BROKEN)
    described = plane.daemon.call("turns/describe", where)
    assert described["tools"] == [f"good/{tool}" for tool in TOOLS]
    assert sorted(described["unanswered"]) == sorted(BROKEN)
    assert SECRET not in json.dumps(plane.daemon.told) + plane.daemon.stderr
    assert [process for process in plane.workshop.survivors.now() if process.pid != plane.daemon.pid] == []


def test_twenty_at_once_are_all_answered_and_hold_up_nobody_else(plane: ControlPlane) -> None:
    where = served(plane, good=scripted())
    asked = [plane.daemon.request("turns/describe", where) for _ in range(20)]
    assert plane.daemon.call("run/list") == {"runs": []}
    plane.end(plane.begin())
    assert {len(plane.daemon.result(id_)["tools"]) for id_ in asked} == {len(TOOLS)}


@pytest.mark.fault(
    "turns", "Many descriptions wait for servers that hang", "The daemon answers other methods without delay"
)
def test_servers_that_do_not_answer_hold_up_no_other_method(plane: ControlPlane) -> None:
    where = served(plane, silent=shell("exec sleep 1000"))
    asked = [plane.daemon.request("turns/describe", where) for _ in range(9)]
    assert plane.daemon.call("turns/resolve", where) == {"ok": True}
    assert plane.daemon.call("turns/capabilities")["harnesses"]
    plane.daemon.notify("exit")
    for id_ in asked:
        with pytest.raises(Refused):
            plane.daemon.result(id_)


@pytest.mark.rule("J2", "J10", "J11")
@pytest.mark.parametrize("end", ["exit", "signal", "leave"])
@pytest.mark.fault("turns", "The daemon ends while it queries servers", "No server survives")
def test_one_that_hangs_ends_with_the_daemon_and_leaves_no_server(plane: ControlPlane, end: str) -> None:
    started = plane.workshop.directory / "started"
    asked = plane.daemon.request("turns/describe", served(plane, held=shell(f"echo > {started}; exec sleep 1000")))
    plane.daemon.receive_until(started.exists)
    match end:
        case "exit":
            plane.daemon.notify("exit")
        case "signal":
            plane.daemon.kill(signal.SIGTERM)
        case _:
            plane.daemon.close_stdin()
    assert plane.daemon.wait() == 0
    with pytest.raises(Refused) as refused:
        plane.daemon.result(asked)
    assert (refused.value.code, refused.value.data) == (-32010, {"kind": "cancelled"})
