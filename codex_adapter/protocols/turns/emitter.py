"""Emit the events of one turn in order, with numbers and times (U2, U4)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

import trio

from codex_adapter.protocols.turns.messages import (
    AgentEvent,
    CompleteEvent,
    RunResult,
    SessionCallbacks,
    SessionState,
    StateEvent,
)

__all__ = ["Clock", "Emitter", "utc_now"]

Clock: TypeAlias = Callable[[], str]
_E = TypeVar("_E", bound=AgentEvent)


def utc_now() -> str:
    """Return the time in ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Emitter:
    """Pass the events of one turn to its callback. An exception of the callback passes through and ends the turn."""

    def __init__(
        self, callbacks: SessionCallbacks, external_session_id: str, external_run_id: str, *, clock: Clock = utc_now
    ) -> None:
        self._on_event = callbacks.on_event
        self._external_session_id = external_session_id
        self._external_run_id = external_run_id
        self._clock = clock
        self._seq = 0
        self.broken = False
        """Whether the callback raised an exception, which is then the result of the turn."""
        self.harness_session_id: str | None = None
        """The key of the conversation. Once it is set, each event has it."""

    async def emit(self, kind: type[_E], **fields: Any) -> None:
        """Emit an event and wait until the callback has returned (U2)."""
        # The callback may have cancelled the turn during the last event.
        await trio.lowlevel.checkpoint_if_cancelled()
        self._seq += 1
        event = kind(
            ts=self._clock(),
            seq=self._seq,
            external_session_id=self._external_session_id,
            external_run_id=self._external_run_id,
            harness_session_id=self.harness_session_id,
            **fields,
        )
        try:
            returned = self._on_event(event)
            if inspect.isawaitable(returned):
                await returned
        except BaseException:
            self.broken = True
            raise

    async def finish(self, result: RunResult) -> None:
        """Emit the final state and the last event (U4)."""
        state: SessionState = "complete" if result.success else "error"
        await self.emit(StateEvent, state=state)
        await self.emit(CompleteEvent, result=result)
