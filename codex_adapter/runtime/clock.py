"""Measure the seconds since the start of a run, without the time that it waits for its consumer (D4)."""

from __future__ import annotations

import trio

__all__ = ["RunClock"]


class RunClock:
    """A pausable view of trio's clock."""

    def __init__(self) -> None:
        self._origin = trio.current_time()
        self._paused_at: float | None = None
        self._overslept = False  # a sleep ended while the clock was paused; `resume` starts it again
        self._moved = trio.Event()

    def now(self) -> float:
        """Return the seconds since the start, without the paused time."""
        return (trio.current_time() if self._paused_at is None else self._paused_at) - self._origin

    def pause(self) -> None:
        """Stop the clock until `resume`."""
        self._paused_at = trio.current_time()

    def resume(self) -> None:
        """Continue after a pause."""
        if self._paused_at is not None:
            self._origin += trio.current_time() - self._paused_at
            self._paused_at = None
            if self._overslept:
                self.wake()

    def wake(self) -> None:
        """Make `sleep_until` return, because its condition may have changed."""
        self._overslept = False
        self._moved.set()
        self._moved = trio.Event()

    async def sleep_until(self, when: float) -> None:
        """Sleep until the clock shows `when`, or until `wake`."""
        moved = self._moved
        while not moved.is_set() and (remaining := when - self.now()) > 0:
            if self._paused_at is not None and self._overslept:
                await moved.wait()
            else:
                with trio.move_on_after(remaining):
                    await moved.wait()
                self._overslept = self._paused_at is not None
