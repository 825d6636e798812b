"""The clock of one run: seconds since its start, standing still while the run waits for its consumer (D4)."""

from __future__ import annotations

import trio

__all__ = ["RunClock"]


class RunClock:
    """A pausable view of trio's clock."""

    def __init__(self) -> None:
        self._origin = trio.current_time()
        self._paused_at: float | None = None
        self._overslept = False  # a sleep ran out while the clock stood still; `resume` starts it anew
        self._moved = trio.Event()

    def now(self) -> float:
        """Seconds since the start, without the time spent paused."""
        return (trio.current_time() if self._paused_at is None else self._paused_at) - self._origin

    def pause(self) -> None:
        """Stand still until `resume`."""
        self._paused_at = trio.current_time()

    def resume(self) -> None:
        """Go on."""
        if self._paused_at is not None:
            self._origin += trio.current_time() - self._paused_at
            self._paused_at = None
            if self._overslept:
                self.wake()

    def wake(self) -> None:
        """Let `sleep_until` return, since what it waits for may have changed."""
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
