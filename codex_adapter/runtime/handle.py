"""Define the handle of a run, wherever its agent runs, and the block in which the run lives (K5)."""

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
    """The place and the setup of a run's work.

    `working_dir` is absolute. `model` is None if the CLI chooses it. `release` is None if the CLI was not asked for it
    or did not report one. `mask(text, limit)` returns a text without the run's secrets, cut to `limit` bytes (X5).
    """

    working_dir: str
    model: str | None
    release: str | None
    mask: Callable[[str, int], str]


class RunHandle(ABC):
    """One run in progress: its events, and its completion once they are final. `open_run` and similar functions return
    it."""

    containment: str | None
    """The level of containment of the run's processes; None for a replay (N1)."""
    setup: RunSetup | None = None
    """The place and the setup of the run's work; None if this process does not know it, as for a replay."""

    @property
    @abstractmethod
    def events(self) -> EventStream:
        """The events of the run, for one consumer (D1, D2)."""

    @property
    @abstractmethod
    def session_id(self) -> str | None:
        """The id with which the session can be resumed; None until the agent has reported it (M5)."""

    @abstractmethod
    async def wait_completed(self) -> Completion:
        """Return the completion, once the agent has exited and the consumer has read or closed the events.

        If the consumer neither reads nor closes the events, this waits for ever. Every call returns or raises the same.
        Raise `BackendError` if there is no completion: `RunCancelled`, `RunTimedOut` or another (F1, F4, F5).
        """

    @abstractmethod
    def cancel(self) -> None:
        """Cancel the run: its events end now, and its completion is `RunCancelled` once the agent has exited.

        Any task of the same event loop may call this at any time, any number of times. It does not change a completion
        that was returned before (F6, K3).
        """

    @abstractmethod
    def kill(self) -> None:
        """Cancel the run without asking the agent first (K4)."""


class OwnRun(RunHandle):
    """A run as its opener has it, with control over its life."""

    @abstractmethod
    async def drive(self) -> None:
        """Drive the run to its end. All other tasks depend on this task. It raises no error of its own."""

    @abstractmethod
    def abandon(self) -> None:
        """End the run, because no consumer will read or wait any more (K5)."""

    @abstractmethod
    async def wait_ended(self) -> None:
        """Wait until no task and no process of the run is left."""


def completion_or_raise(outcome: Completion | AdapterError) -> Completion:
    """Return the completion, or raise the error without its earlier traceback."""
    if isinstance(outcome, AdapterError):
        raise outcome.with_traceback(None)
    return outcome


@asynccontextmanager
async def live_run(run: OwnRun) -> AsyncIterator[RunHandle]:
    """Hold a run in a block: its tasks run inside, and none is left after it (K5)."""
    error: BaseException | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run.drive)
        try:
            yield run
            run.events.leave()
            await run.wait_ended()
        # This is raised again below, outside of the nursery, which would wrap it.
        except BaseException as raised:  # noqa: BLE001, ASYNC103
            error = raised
            run.abandon()
            with trio.CancelScope(shield=True):
                await run.wait_ended()
    if error is not None:
        raise error
