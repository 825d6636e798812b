"""Test the cancel of one of many turns over `serve`, at any time and without leftovers."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter.testing import ReadPrompt, Step, WriteFile

from ...daemon.messages import Refused
from ...daemon.workshop import Workshop
from .control_plane import ControlPlane
from .service_agents import ENDLESS, HANGING, HELD, served

pytestmark = pytest.mark.rule("U12")

CANCELLED = (-32010, {"kind": "cancelled"})


def cancel(plane: ControlPlane, run: str) -> Any:
    return plane.daemon.call("turns/cancel", externalRunId=run)


def refusal(plane: ControlPlane, id_: str) -> tuple[int, Any]:
    with pytest.raises(Refused) as refused:
        plane.daemon.result(id_)
    return refused.value.code, refused.value.data


def begun(plane: ControlPlane, run: str, steps: tuple[Step, ...], session: str = "a", **changes: Any) -> str:
    """A turn of which its agent has told something."""
    id_ = plane.begin(run, session, env=plane.workshop.agent(f"of-{session}", *steps), **changes)
    plane.daemon.receive_until(lambda: len(plane.events(run)) > 2)
    return id_


@pytest.mark.rule("U2")
@pytest.mark.parametrize("steps", ENDLESS.values(), ids=ENDLESS)
def test_a_turn_is_cancelled_alone_and_nothing_of_it_is_left(plane: ControlPlane, steps: tuple[Step, ...]) -> None:
    cancelled = begun(plane, "cancelled", steps)
    assert cancel(plane, "cancelled") == {}
    told = plane.events("cancelled")
    assert refusal(plane, cancelled) == CANCELLED
    left = [process for process in plane.workshop.survivors.now() if process.pid != plane.daemon.pid]
    assert left == []
    assert plane.events("cancelled") == told, "an event behind the answer"
    assert [event["seq"] for event in told] == [*range(1, len(told) + 1)]
    assert told[-1]["type"] != "complete"
    assert cancel(plane, "cancelled") == {"known": False}
    assert plane.end(plane.begin("next", "a"))[0]["result"]["success"] is True


def test_other_turns_go_on_and_so_does_the_conversation(plane: ControlPlane) -> None:
    other = begun(plane, "other", HELD, "b")
    cancelled = begun(plane, "cancelled", HANGING)
    assert cancel(plane, "cancelled") == {}
    assert refusal(plane, cancelled) == CANCELLED
    (plane.cwd / "go").touch()
    assert plane.end(other)[0]["result"]["success"] is True


def test_all_turns_of_an_id_are_cancelled_waiting_ones_too(workshop: Workshop) -> None:
    plane = ControlPlane(workshop, "--max-runs", "1")
    marking = workshop.agent("marking", ReadPrompt(), WriteFile(f"{workshop.directory}/started"))
    under_way = begun(plane, "same", HANGING)
    waiting = plane.begin("same", "b", env=marking)
    other = plane.begin("other", "c")
    assert cancel(plane, "same") == {}
    assert refusal(plane, waiting) == refusal(plane, under_way) == CANCELLED
    assert plane.end(other)[0]["result"]["success"] is True
    assert not (workshop.directory / "started").exists()


def test_one_that_waits_is_cancelled_and_the_others_keep_their_places(workshop: Workshop) -> None:
    plane = ControlPlane(workshop, "--max-runs", "1")
    held = begun(plane, "held", HELD)
    waiting = plane.begin("waiting", "b")
    last = plane.begin("last", "c")
    assert cancel(plane, "waiting") == {}
    assert refusal(plane, waiting) == CANCELLED
    assert plane.events("waiting") == []
    (plane.cwd / "go").touch()
    plane.end(held)
    plane.end(last)


@pytest.mark.rule("J6")
def test_a_turn_may_be_cancelled_in_the_batch_that_asks_for_it(plane: ControlPlane) -> None:
    asked = {"jsonrpc": "2.0", "method": "turns/run", "params": plane.turn("one", "a")}
    stop = {"jsonrpc": "2.0", "method": "turns/cancel", "params": {"externalRunId": "one"}}
    plane.daemon.say([{**stop, "id": 0}, {**asked, "id": 1}, {**stop, "id": 2}, stop])
    (batch,) = [told for told in plane.daemon.arriving_until(batches=1) if isinstance(told, list)]
    answers = {answer["id"]: answer for answer in batch}
    assert answers[0]["result"] == {"known": False}
    assert answers[1]["error"]["data"] == {"kind": "cancelled"}
    assert answers[2]["result"] == {}
    assert plane.events("one") == []


def test_it_is_answered_at_once_when_all_places_are_taken(plane: ControlPlane) -> None:
    where = served(plane, silent={"command": "sleep", "args": ["1000"]})
    described = [plane.daemon.request("turns/describe", where) for _ in range(9)]
    cancelled = begun(plane, "cancelled", HANGING)
    assert cancel(plane, "cancelled") == {}
    assert refusal(plane, cancelled) == CANCELLED
    plane.daemon.notify("exit")
    assert [refusal(plane, id_) for id_ in described] == [CANCELLED] * 9


@pytest.mark.rule("J2", "J3")
def test_it_ends_what_a_shutdown_waits_for(workshop: Workshop) -> None:
    plane = ControlPlane(workshop, "--max-runs", "1")
    under_way = begun(plane, "under way", HANGING)
    waiting = plane.begin("waiting", "b")
    shutdown = plane.daemon.request("shutdown", mode="drain")
    assert cancel(plane, "waiting") == cancel(plane, "under way") == {}
    assert refusal(plane, waiting) == refusal(plane, under_way) == CANCELLED
    assert plane.daemon.result(shutdown) == {}
    assert cancel(plane, "under way") == {"known": False}


def test_twice_is_as_once(plane: ControlPlane) -> None:
    cancelled = begun(plane, "cancelled", ENDLESS["stubborn"])
    assert [cancel(plane, "cancelled") for _ in range(2)] == [{}, {}]
    assert refusal(plane, cancelled) == CANCELLED


def test_an_id_is_any_text_and_no_other_method_has_it(plane: ControlPlane) -> None:
    names = ["", "\u2028 “ü” \x00", "x" * 100_000]
    asked = [begun(plane, name, HANGING, str(number)) for number, name in enumerate(names)]
    for name in names:
        assert cancel(plane, name) == {}
    assert [refusal(plane, id_) for id_ in asked] == [CANCELLED] * 3
    plane.daemon.start("run", env=plane.workshop.agent("hanging", *HANGING))
    assert cancel(plane, "run") == {"known": False}


@pytest.mark.rule("J5")
@pytest.mark.parametrize("params", [{}, {"externalRunId": 1}, {"externalRunId": None}, {"externalRunId": "x", "a": 1}])
def test_params_of_another_form_are_refused_by_name(shared_plane: ControlPlane, params: dict[str, Any]) -> None:
    refused = shared_plane.daemon.refusal("turns/cancel", params)
    assert refused.code == -32602
    assert "externalRunId" in refused.message
