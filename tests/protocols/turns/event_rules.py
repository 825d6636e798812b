"""Check the events of turns against the text of the protocol alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

__all__ = ["IllegalError", "check_events", "check_response"]

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})")
_FIELDS: dict[str, dict[str, Any]] = {
    "state": {"state": ("running", "complete", "error")},
    "message": {"role": ("user", "assistant"), "content": str},
    "message_delta": {"role": ("assistant",), "delta": str},
    "tool_call": {"toolUseId": str, "toolName": str, "input": object},
    "tool_result": {"toolUseId": str, "toolName": str, "output": object, "isError": bool},
    "log": {"level": ("debug", "info", "warn", "error"), "message": str},
    "complete": {"result": dict},
}
_COMMON = {"type", "ts", "seq", "externalSessionId", "externalRunId", "harnessSessionId"}
_CODES = ("resolve_failed", "harness_session_not_found", "model_not_supported")


class IllegalError(AssertionError):
    """What a sequence of events breaks."""


def check_events(
    events: Sequence[dict[str, Any]], session: str, run: str, *, prompt: str | None = None, key: str | None = None
) -> None:
    """See that these are the events of one whole turn, of this prompt and for this session of the harness, where they
    are given. Raises IllegalError."""
    known: str | None = None
    calls: dict[str, str] = {}
    for number, event in enumerate(events, 1):
        _require(type(event.get("seq")) is int and event["seq"] == number, f"seq {event.get('seq')} in place {number}")
        _require(bool(_TIME.fullmatch(str(event.get("ts")))), f"ts of {number}")
        _require(event.get("externalSessionId") == session, f"externalSessionId of {number}")
        _require(event.get("externalRunId") == run, f"externalRunId of {number}")
        known = _check_key(event, known)
        _check_fields(event)
        match event["type"]:
            case "tool_call":
                _require(event["toolUseId"] not in calls, f"a second call {event['toolUseId']}")
                calls[event["toolUseId"]] = event["toolName"]
            case "tool_result":
                _require(calls.pop(event["toolUseId"], None) == event["toolName"], f"no call for {event['toolUseId']}")
                calls[event["toolUseId"]] = "(answered)"
            case "complete":
                _require(number == len(events), "something behind complete")
                check_result(event["result"])
    _require(bool(events) and events[-1]["type"] == "complete", "no complete")
    _require(all(name == "(answered)" for name in calls.values()), "a call without a result")
    _check_states(events)
    _check_begin(events, prompt, key)


def check_response(response: dict[str, Any], events: Sequence[dict[str, Any]]) -> None:
    """See that the response is what the events told. Raises IllegalError."""
    _require(response["result"] == events[-1]["result"], "another result than the last event's")
    _require(isinstance(response["harness"], str), "no harness")
    _require(not response["result"]["success"] or "harnessSessionId" in response, "a success without a session")
    told = {event["harnessSessionId"] for event in events if "harnessSessionId" in event}
    _require(told <= {response.get("harnessSessionId")}, "another session than the events'")


def check_result(result: dict[str, Any]) -> None:
    """See that it is one. Raises IllegalError."""
    _require(isinstance(result.get("success"), bool), "success")
    _require(isinstance(result.get("finalOutput", ""), str), "finalOutput")
    _require(result["success"] == ("error" not in result), "an error of a success, or none of a failure")
    if "error" in result:
        _require(isinstance(result["error"].get("message"), str), "an error without a message")
        _require(result["error"].get("code", _CODES[0]) in _CODES, "an unknown code")
        _require(isinstance(result["error"].get("details", {}), dict), "details of an error")


def _check_states(events: Sequence[dict[str, Any]]) -> None:
    states = [(number, event["state"]) for number, event in enumerate(events) if event["type"] == "state"]
    success = events[-1]["result"]["success"]
    _require(states[-1] == (len(events) - 2, "complete" if success else "error"), f"states {states}")
    rest = states[:-1]
    _require(rest in ([], [(0, "running")]), f"states {states}")
    if rest:
        _require((events[1]["type"], events[1].get("role")) == ("message", "user"), "no message of the user")
    else:
        _require(len(events) == 2 and not success, "more than an end without a beginning")


def _check_begin(events: Sequence[dict[str, Any]], prompt: str | None, key: str | None) -> None:
    """The user speaks once, and in his own words; and a session that goes on is known from the first event on."""
    users = [event["content"] for event in events if event["type"] == "message" and event["role"] == "user"]
    _require(len(users) <= 1, "more than one message of the user")
    _require(prompt is None or users in ([], [prompt]), "another prompt than the user's")
    if key is not None and users:
        missing = events[-1]["result"].get("error", {}).get("code") == "harness_session_not_found"
        told = {event.get("harnessSessionId") for event in events}
        _require(told == {key} or (missing and told == {None}), f"sessions {told} of one that goes on")


def _check_key(event: dict[str, Any], known: str | None) -> str | None:
    """The harness's session stays once it is known, and never becomes another."""
    key = event.get("harnessSessionId")
    _require(key is None or isinstance(key, str), "harnessSessionId")
    _require(known is None or key == known, "another harnessSessionId than before, or none any more")
    return key


def _check_fields(event: dict[str, Any]) -> None:
    fields = _FIELDS.get(event.get("type", ""))
    _require(fields is not None, f"type {event.get('type')}")
    for name, allowed in (fields or {}).items():
        value = event.get(name, IllegalError)
        fits = value in allowed if isinstance(allowed, tuple) else value is not IllegalError
        _require(fits and (isinstance(allowed, tuple) or isinstance(value, allowed)), f"{name} of {event['type']}")
    more = event.keys() - _COMMON - (fields or {}).keys()
    _require(more <= ({"fields"} if event["type"] == "log" else set()), f"{more} of {event['type']}")
    _require(isinstance(event.get("fields", {}), dict), "fields of a log")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise IllegalError(what)
