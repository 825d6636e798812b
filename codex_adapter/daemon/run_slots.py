"""Who may have an agent alive: so many at once, the others first come, first served (J8)."""

from __future__ import annotations

from collections import deque
from typing import Final

import trio

__all__ = ["Slot", "Slots"]

_MOST_WAITING: Final = 10_000
"""More than anybody waits for; whoever sends more has lost count, and each holds a request."""


class Slot:
    """A place for one agent, or a place in the queue until `granted` is set."""

    def __init__(self, slots: Slots) -> None:
        self.granted = trio.Event()
        self._slots = slots

    def release(self) -> None:
        """Give it to the next one. Called once, also by whoever was never granted it."""
        self._slots.release(self)


class Slots:
    """Places for `count` agents; without `queue` nobody waits for one."""

    def __init__(self, count: int, *, queue: bool) -> None:
        self._free = count
        self._most_waiting = _MOST_WAITING if queue else 0
        self._waiting: deque[Slot] = deque()

    def claim(self) -> Slot | None:
        """A place, granted at once or in its turn; None when there is none, not even in the queue."""
        slot = Slot(self)
        if self._free:
            self._free -= 1
            slot.granted.set()
        elif len(self._waiting) < self._most_waiting:
            self._waiting.append(slot)
        else:
            return None
        return slot

    def release(self, slot: Slot) -> None:
        """As `Slot.release`."""
        if not slot.granted.is_set():
            self._waiting.remove(slot)
        elif self._waiting:
            self._waiting.popleft().granted.set()
        else:
            self._free += 1
