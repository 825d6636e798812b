"""Test that the event checker detects each single change that breaks a rule."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from ...rows import rows
from .event_rules import IllegalError, check_events, check_response

pytestmark = pytest.mark.rule("U2", "U4", "U7")

Json = dict[str, Any]


def event(number: int, type_: str, **fields: Any) -> Json:
    common = {"ts": "2026-01-02T03:04:05.678Z", "externalSessionId": "talk", "externalRunId": "run"}
    return {"type": type_, "seq": number, **common, "harnessSessionId": "key", **fields}


CALL = {"toolUseId": "item_0", "toolName": "shell"}
RESULT = {"success": True, "finalOutput": "Done."}
LEGAL = [
    event(1, "state", state="running"),
    event(2, "message", role="user", content="Do it."),
    event(3, "tool_call", **CALL, input={}),
    event(4, "tool_result", **CALL, output={}, isError=False),
    event(5, "log", level="info", message="plan", fields={}),
    event(6, "message_delta", role="assistant", delta="Do"),
    event(7, "message", role="assistant", content="Done."),
    event(8, "state", state="complete"),
    event(9, "complete", result=RESULT),
]
REFUSED = [
    event(1, "state", state="error"),
    event(2, "complete", result={"success": False, "error": {"message": "no such space", "code": "resolve_failed"}}),
]


def check(events: list[Json]) -> None:
    check_events(events, "talk", "run", prompt="Do it.", key="key")


def numbered(events: list[Json]) -> None:
    for number, it in enumerate(events, 1):
        it["seq"] = number


def swapped(events: list[Json], first: int, second: int) -> None:
    events[first], events[second] = events[second], events[first]
    numbered(events)


def removed(events: list[Json], place: int) -> None:
    del events[place]
    numbered(events)


def doubled(events: list[Json], place: int) -> None:
    events.insert(place, deepcopy(events[place]))
    numbered(events)


def changed(place: int, **fields: Any) -> Callable[[list[Json]], None]:
    return lambda events: events[place].update(fields)


CHANGES: dict[str, Callable[[list[Json]], None]] = {
    "a number is left out": changed(4, seq=6),
    "a number is no number": changed(0, seq=True),
    "no time": changed(3, ts="yesterday"),
    "another turn's": changed(3, externalRunId="other"),
    "another conversation's": changed(3, externalSessionId="other"),
    "another session": changed(5, harnessSessionId="other"),
    "a session that goes on is not known at first": lambda events: events[0].pop("harnessSessionId"),
    "an unknown type": changed(5, type="thought"),
    "an unknown member": changed(3, more=1),
    "an unknown state": changed(0, state="begun"),
    "an unknown level": changed(4, level="fatal"),
    "fields that are none": changed(4, fields=["a"]),
    "another prompt": changed(1, content="Do that."),
    "the user speaks again": changed(6, role="user"),
    "the user does not speak": lambda events: removed(events, 1),
    "no beginning": lambda events: removed(events, 0),
    "two beginnings": lambda events: doubled(events, 0),
    "no end": lambda events: removed(events, 8),
    "two ends": lambda events: doubled(events, 8),
    "no state at the end": lambda events: removed(events, 7),
    "another state at the end": changed(7, state="error"),
    "something behind the state at the end": lambda events: swapped(events, 6, 7),
    "a call without a result": lambda events: removed(events, 3),
    "a result without a call": lambda events: removed(events, 2),
    "a result before its call": lambda events: swapped(events, 2, 3),
    "a call twice": lambda events: doubled(events, 2),
    "a result twice": lambda events: doubled(events, 3),
    "another tool's result": changed(3, toolName="search"),
    "a success with an error": changed(8, result={**RESULT, "error": {"message": "no"}}),
    "a failure without an error": changed(8, result={"success": False}),
    "an unknown code": changed(8, result={"success": False, "error": {"message": "no", "code": "broken"}}),
    "details that are none": changed(8, result={"success": False, "error": {"message": "no", "details": "much"}}),
}


@pytest.mark.parametrize("events", [LEGAL, REFUSED], ids=["well", "refused"])
def test_what_is_legal_passes(events: list[Json]) -> None:
    check(events)


@rows("what", CHANGES)
def test_what_is_not_is_found(what: str) -> None:
    events = deepcopy(LEGAL)
    CHANGES[what](events)
    with pytest.raises(IllegalError):
        check(events)


@pytest.mark.parametrize(
    "changes", [{"harnessSessionId": "other"}, {"harness": None}, {"result": {"success": True}}], ids=str
)
def test_a_response_that_is_none_of_the_events_is_found(changes: Json) -> None:
    response = {"harness": "codex", "harnessSessionId": "key", "result": RESULT}
    check_response(response, LEGAL)
    with pytest.raises(IllegalError):
        check_response({**response, **changes}, LEGAL)


def test_a_success_without_a_session_is_found() -> None:
    events = [{name: value for name, value in it.items() if name != "harnessSessionId"} for it in LEGAL]
    with pytest.raises(IllegalError, match="without a session"):
        check_response({"harness": "codex", "result": RESULT}, events)


@pytest.mark.parametrize("known", [True, False])
def test_a_session_that_is_not_there_may_be_told_on_all_events_or_on_none(known: bool) -> None:
    error = {"message": "no such session", "code": "harness_session_not_found"}
    end = [event(3, "state", state="error"), event(4, "complete", result={"success": False, "error": error})]
    events = deepcopy([*LEGAL[:2], *end])
    for it in events if not known else ():
        del it["harnessSessionId"]
    check(events)
    del events[2 if known else 0]["ts"]
    with pytest.raises(IllegalError):
        check(events)
