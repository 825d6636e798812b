"""Limit how many agents live at once; the others wait, first come, first served (J8)."""

from __future__ import annotations

from collections import deque
from typing import Final

import trio

__all__ = ["Slot", "Slots"]

_MOST_WAITING: Final = 10_000
"""Each that waits holds a request in memory; a supervisor that sends more has a defect."""


class Slot:
    """A place for one agent, once `granted` is set; before, a place in the queue."""

    def __init__(self, slots: Slots) -> None:
        self.granted = trio.Event()
        self._slots = slots

    def release(self) -> None:
        """Pass the slot to the next one. Call this once, even if the slot was never granted."""
        self._slots.release(self)


class Slots:
    """Slots for `count` agents, with or without a queue."""

    def __init__(self, count: int, *, queue: bool) -> None:
        self._free = count
        self._most_waiting = _MOST_WAITING if queue else 0
        self._waiting: deque[Slot] = deque()

    def claim(self) -> Slot | None:
        """Return a slot, granted at once or later in its turn; None if the queue has no place either."""
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
