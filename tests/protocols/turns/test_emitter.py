"""Test the delivery of a turn's events to its callbacks."""

from __future__ import annotations

import re

import pytest
import trio

from codex_adapter.protocols.turns.emitter import Emitter, utc_now
from codex_adapter.protocols.turns.messages import (
    AgentEvent,
    AgentSpacesError,
    LogEvent,
    RunResult,
    SessionCallbacks,
    StateEvent,
)

from .listener import Listener


def emitter(listener: Listener) -> Emitter:
    """To a listener, at one moment."""
    return Emitter(listener.callbacks, "conversation", "run-1", clock=lambda: "2026-01-02T03:04:05.678Z")


@pytest.mark.rule("U1", "U2")
async def test_events_are_numbered_and_say_whose_they_are() -> None:
    listener = Listener()
    to = emitter(listener)
    await to.emit(StateEvent, state="running")
    to.harness_session_id = "s-1"
    await to.finish(RunResult(success=True, final_output="Done."))
    common = {"externalSessionId": "conversation", "externalRunId": "run-1", "ts": "2026-01-02T03:04:05.678Z"}
    assert listener.told == [
        {"type": "state", "seq": 1, "state": "running", **common},
        {"type": "state", "seq": 2, "state": "complete", "harnessSessionId": "s-1", **common},
        {
            "type": "complete",
            "seq": 3,
            "result": {"success": True, "finalOutput": "Done."},
            "harnessSessionId": "s-1",
            **common,
        },
    ]


@pytest.mark.rule("U4", "U6")
async def test_a_turn_that_failed_ends_with_its_error() -> None:
    listener = Listener()
    error = AgentSpacesError(message="There is no such model.", code="model_not_supported")
    await emitter(listener).finish(RunResult(success=False, error=error))
    assert listener.bare == [
        {"type": "state", "state": "error"},
        {
            "type": "complete",
            "result": {
                "success": False,
                "error": {"message": "There is no such model.", "code": "model_not_supported"},
            },
        },
    ]


@pytest.mark.rule("U2")
async def test_what_is_awaitable_is_awaited_before_the_next_event() -> None:
    order: list[str] = []

    async def slow(event: AgentEvent) -> None:
        order.append(f"begins {event.seq}")
        await trio.lowlevel.checkpoint()
        order.append(f"ends {event.seq}")

    to = Emitter(SessionCallbacks(slow), "", "")
    await to.emit(LogEvent, level="info", message="a")
    await to.emit(LogEvent, level="info", message="b")
    assert order == ["begins 1", "ends 1", "begins 2", "ends 2"]
    seen: list[int] = []
    await Emitter(SessionCallbacks(lambda event: seen.append(event.seq)), "", "").emit(StateEvent, state="running")
    assert seen == [1]


@pytest.mark.rule("U2")
def test_the_time_is_utc_to_the_millisecond() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", utc_now())
