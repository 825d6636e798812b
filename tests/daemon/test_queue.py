"""Test the order of queued runs and the number of agents that run at once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from codex_adapter.testing import Exit

from ..waiting import SOON
from .agents import BRIEF, HANGING, HELD, STUBBORN
from .messages import CANCELLED, encode, run
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J8")


def failed(kind: str) -> dict[str, Any]:
    message = f"codex backend error: {kind} (details redacted when unsafe)"
    error = {"kind": "backend", "message": message, "failure": kind}
    return {"outcome": "failed", "ok": False, "error": error}


def ends(daemon: Supervisor) -> list[str]:
    """The runs that have ended, in that order."""
    told = (told for told in daemon.told if isinstance(told, dict))
    return [message["params"]["runId"] for message in told if message.get("method") == "run/completed"]


def test_the_queue_is_first_come_first_served(workshop: Workshop) -> None:
    daemon, place = workshop.daemon("--max-runs", "1"), workshop.place("work")
    env = workshop.agent("held", *HELD)
    names = [daemon.start(f"r{number}", env=env, working_dir=str(place)) for number in range(6)]
    waiting = [daemon.live(name)["waitsFor"] for name in names[1:]]
    assert waiting == ["slot"] * 5
    (place / "go").touch()
    for name in names:
        assert daemon.completion(name)["turn"] == "completed"
    assert ends(daemon) == names


def test_no_more_agents_live_at_once_than_there_may(workshop: Workshop) -> None:
    daemon, place = workshop.daemon("--max-runs", "3"), workshop.place("work")
    env = workshop.agent("held", *HELD)
    names = [daemon.start(f"r{number}", env=env, working_dir=str(place)) for number in range(7)]
    for name in names[:3]:
        daemon.event(name)
    assert [daemon.live(name)["waitsFor"] == "slot" for name in names] == [False] * 3 + [True] * 4
    (place / "go").touch()
    for name in names:
        daemon.completion(name)


@pytest.mark.rule("J5")
def test_without_a_queue_further_runs_are_refused(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1", "--no-queue")
    env = workshop.agent("hanging", *HANGING)
    daemon.start("first", env=env)
    refused = daemon.refusal("run/start", run("second"))
    assert (refused.code, refused.data["kind"]) == (-32010, "too_many_runs")
    assert [live["runId"] for live in daemon.call("run/list")["runs"]] == ["first"]
    daemon.call("run/cancel", runId="first")
    daemon.completion("first")
    daemon.start("second")
    daemon.completion("second")


@pytest.mark.rule("J6")
def test_without_a_queue_as_many_are_accepted_as_there_are_places(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "2", "--no-queue")
    env = workshop.agent("hanging", *HANGING)
    params = [run(f"r{number}", env=env) for number in range(5)]
    daemon.send(
        *(encode({"jsonrpc": "2.0", "id": p["runId"], "method": "run/start", "params": p}) for p in params),
    )
    answers = [daemon.answer(p["runId"]) for p in params]
    assert ["result" in answer for answer in answers] == [True, True, False, False, False]


def test_a_run_that_is_over_at_once_is_told_in_order(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "2")
    env = workshop.agent("brief", *BRIEF)
    exits = workshop.agent("exits", Exit(3))
    ids = [daemon.request("run/start", run(f"r{n}", env=env if n % 2 else exits)) for n in range(20)]
    for number, id_ in enumerate(ids):
        assert daemon.result(id_) == {"runId": f"r{number}"}
        status = {"code": 0 if number % 2 else 3, "signal": None}
        assert daemon.completion(f"r{number}")["status"] == status


@pytest.mark.rule("J3", "K4")
def test_a_place_is_free_when_the_agent_before_is_gone(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    daemon.start("stubborn", env=workshop.agent("stubborn", *STUBBORN))
    daemon.event("stubborn")
    begun = time.monotonic()
    daemon.start("next")
    daemon.call("run/cancel", runId="stubborn")
    assert daemon.live("next")["waitsFor"] == "slot"
    assert daemon.completion("next")["outcome"] == "completed"
    assert daemon.completion("stubborn") == CANCELLED
    assert ends(daemon) == ["stubborn", "next"]
    assert time.monotonic() - begun < SOON
