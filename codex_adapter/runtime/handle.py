"""What a run is to whoever opened it, wherever its agent lives, and the block in which it lives (K5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import trio

from codex_adapter.errors import AdapterError
from codex_adapter.events import Completion
from codex_adapter.runtime.stream import EventStream

__all__ = ["OwnRun", "RunHandle", "RunSetup", "completion_or_raise", "live_run"]


class RunSetup(NamedTuple):
    """Where and with what a run works.

    `working_dir` is absolute. `model` is None where the CLI chooses, `release` where the CLI was not asked for it or
    gave none. `mask(text, limit)` gives a text without the run's secrets, cut to `limit` bytes (X5).
    """

    working_dir: str
    model: str | None
    release: str | None
    mask: Callable[[str, int], str]


class RunHandle(ABC):
    """One run under way: its events, and its completion once they are final. Made by `open_run` and its like."""

    containment: str | None
    """The level at which the run's processes are held (N1); None where it has none, as a replay."""
    setup: RunSetup | None = None
    """Where and with what the run works; None where this process does not know, as with a replay."""

    @property
    @abstractmethod
    def events(self) -> EventStream:
        """The events of the run, for one consumer (D1, D2)."""

    @property
    @abstractmethod
    def session_id(self) -> str | None:
        """The id by which the session can be resumed; None until the agent has told it (M5)."""

    @abstractmethod
    async def wait_completed(self) -> Completion:
        """The completion, once the agent has exited and the events were read to their end or left (F1).

        Whoever does not read the events must close them, or this waits for ever. Gives or raises the same thing every
        time (F5). Raises `BackendError` where there is no completion: `RunCancelled`, `RunTimedOut` or another (F4).
        """

    @abstractmethod
    def cancel(self) -> None:
        """Ask the run to end: its events end now, its completion is `RunCancelled` once the agent has exited (K3).

        May be called at any time, from any task of the same event loop, any number of times. It does nothing to a
        completion that was given out already (F6).
        """

    @abstractmethod
    def kill(self) -> None:
        """As `cancel`, but the agent is not asked first (K4)."""


class OwnRun(RunHandle):
    """A run as its opener has it: besides what others may do with it, its life is in the opener's hands."""

    @abstractmethod
    async def drive(self) -> None:
        """Run the run: everything else hangs on this task. It raises nothing of its own."""

    @abstractmethod
    def abandon(self) -> None:
        """Nobody will read or wait any more: end the run (K5)."""

    @abstractmethod
    async def wait_ended(self) -> None:
        """Wait until no task and no process of the run is left."""


def completion_or_raise(outcome: Completion | AdapterError) -> Completion:
    """The completion; or the error in its place is raised, with none of the places where it was raised before."""
    if isinstance(outcome, AdapterError):
        raise outcome.with_traceback(None)
    return outcome


@asynccontextmanager
async def live_run(run: OwnRun) -> AsyncIterator[RunHandle]:
    """The block in which a run lives: its tasks run inside, and none is left after it (K5)."""
    error: BaseException | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run.drive)
        try:
            yield run
            run.events.leave()
            await run.wait_ended()
        # Raised again below, outside the nursery that would wrap it.
        except BaseException as raised:  # noqa: BLE001, ASYNC103
            error = raised
            run.abandon()
            with trio.CancelScope(shield=True):
                await run.wait_ended()
    if error is not None:
        raise error
