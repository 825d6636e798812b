"""Asking an agent: one run after another, each to its outcome and its last message, or ended before (O15, I17)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple, TypeAlias

import trio

from codex_adapter import AdapterError, Completion, Event, RunCancelled, RunHandle, RunRequest
from codex_adapter.last_message import LastMessage
from codex_adapter.records import in_pieces

__all__ = ["Asked", "Asking", "OpenRun"]

OpenRun: TypeAlias = Callable[[RunRequest], AbstractAsyncContextManager[RunHandle]]
"""Opens a run of the agent, as `CodexBackend.open_run` does."""

_MUCH_TEXT: Final = 1024 * 1024


class Asked(NamedTuple):
    """How a run ended, and what its agent said last, if it went well: nothing where it said nothing."""

    outcome: Completion | AdapterError
    text: str | None


class Asking:
    """Runs of an agent, one at a time."""

    def __init__(self, open_run: OpenRun) -> None:
        self._open_run = open_run
        self._run: RunHandle | None = None
        self._scope = trio.CancelScope()

    def cancel(self) -> None:
        """End the run under way in order."""
        if self._run is None:
            self._scope.cancel()
        else:
            self._run.cancel()

    def kill(self) -> None:
        """End it at once."""
        if self._run is None:
            self._scope.cancel()
        else:
            self._run.kill()

    async def ask(self, request: RunRequest, tell: Callable[[Sequence[Event]], Awaitable[object]]) -> Asked:
        """A run to its end; `tell` is told of its events, never of more at once than can be encoded in one piece.

        What `tell` raises ends the run and passes through.
        """
        message = LastMessage()
        outcome: Completion | AdapterError = RunCancelled("cancelled")
        with trio.CancelScope() as self._scope:
            try:
                async with self._open_run(request) as run:
                    try:
                        self._run = run
                        await _forward(run, message, tell)
                        outcome = await run.wait_completed()
                    finally:
                        self._run = None
            except AdapterError as error:
                outcome = error
        return Asked(outcome, _text(outcome, message))


async def _forward(run: RunHandle, message: LastMessage, tell: Callable[[Sequence[Event]], Awaitable[object]]) -> None:
    while True:
        try:
            batch = await run.events.receive_batch()
        except trio.EndOfChannel:
            return
        message.take(batch)
        for events in in_pieces(batch, _MUCH_TEXT):
            await tell(events)


def _text(outcome: Completion | AdapterError, message: LastMessage) -> str | None:
    if not isinstance(outcome, Completion) or not outcome.status.success or outcome.turn != "completed":
        return None
    return message.text or outcome.final_text or ""
