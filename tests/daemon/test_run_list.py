"""Test the list of live runs."""

from __future__ import annotations

import pytest

from .agents import HANGING, STUBBORN, messages
from .messages import CANCELLED, run
from .workshop import Workshop

pytestmark = pytest.mark.rule("J3")


def test_the_list_tells_of_each_live_run(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    assert daemon.call("run/list") == {"runs": []}
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    daemon.start("waiting")
    daemon.event("live")
    first = daemon.until_waiting("live", "agent")
    assert list(first) == ["runId", "agentKind", "ageSeconds", "events", "waitsFor", "detached"]
    assert (first["agentKind"], first["events"], first["detached"]) == ("codex", 1, False)
    waiting = daemon.live("waiting")
    assert (waiting["waitsFor"], waiting["events"], waiting["detached"]) == ("slot", 0, False)
    assert first["ageSeconds"] >= waiting["ageSeconds"] >= 0
    assert daemon.live("live")["ageSeconds"] >= first["ageSeconds"]


def test_a_run_that_has_just_begun_waits_for_no_end(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    env = workshop.agent("hanging", *HANGING)
    for number in range(5):
        line = {"jsonrpc": "2.0", "id": f"list{number}", "method": "run/list"}
        daemon.say([{"jsonrpc": "2.0", "method": "run/start", "params": run(f"r{number}", env=env)}, line])
    told = [told for told in daemon.arriving_until(5) if isinstance(told, list)]
    runs = [run for answers in told for run in answers[0]["result"]["runs"]]
    assert {run["waitsFor"] for run in runs} <= {"start", "agent"}
    assert runs


def test_the_list_tells_of_a_run_that_is_being_started(workshop: Workshop) -> None:
    workshop.program("codex", f"#!/bin/sh\ntouch {workshop.directory}/asked\nexec sleep 1000\n")
    daemon = workshop.daemon()
    id_ = daemon.request("run/start", run("r", extensions={"agent_api.exec.add_dirs.v1": {"dirs": ["/"]}}))
    daemon.until_waiting("r", "start")
    assert daemon.call("run/cancel", runId="r") == {}
    assert daemon.result(id_) == {"runId": "r"}
    assert daemon.completion("r") == CANCELLED


@pytest.mark.rule("J9")
def test_the_list_tells_of_a_run_without_credit(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", credit=2, env=workshop.agent("five", *messages(5)))
    assert daemon.until_waiting("r", "credit")["events"] == 2
    daemon.call("run/credit", runId="r", events=100)
    daemon.completion("r")


def test_the_list_tells_of_a_run_that_is_being_ended(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("stubborn", *STUBBORN))
    daemon.event("r")
    daemon.call("run/cancel", runId="r")
    assert daemon.live("r")["waitsFor"] == "end"
    daemon.call("run/cancel", runId="r", kill=True)
    daemon.completion("r")
