"""The events of one turn on their way to whoever is told of them: numbered, timed, one after another (U2, U4)."""

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

__all__ = ["Bridge", "Clock", "utc_now"]

Clock: TypeAlias = Callable[[], str]
_E = TypeVar("_E", bound=AgentEvent)


def utc_now() -> str:
    """The time in ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Bridge:
    """Tells the events of one turn. What a callback raises passes through, and nothing more is told then."""

    def __init__(
        self, callbacks: SessionCallbacks, external_session_id: str, external_run_id: str, *, clock: Clock = utc_now
    ) -> None:
        self._on_event = callbacks.on_event
        self._external_session_id = external_session_id
        self._external_run_id = external_run_id
        self._clock = clock
        self._seq = 0
        self.broken = False
        """Whether a callback raised: then that is what comes of the turn."""
        self.harness_session_id: str | None = None
        """On each event once it is set."""

    async def tell(self, kind: type[_E], **fields: Any) -> None:
        """Tell an event, and wait until it is taken (U2)."""
        # The last one may have been taken by whoever cancelled the turn.
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
            taken = self._on_event(event)
            if inspect.isawaitable(taken):
                await taken
        except BaseException:
            self.broken = True
            raise

    async def end(self, result: RunResult) -> None:
        """Tell how the turn ended: its state, and the last event (U4)."""
        state: SessionState = "complete" if result.success else "error"
        await self.tell(StateEvent, state=state)
        await self.tell(CompleteEvent, result=result)
