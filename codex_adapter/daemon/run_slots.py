"""Limit the number of live agents. Other runs wait in a queue in their order of arrival. (J8)"""

from __future__ import annotations

from collections import deque
from typing import Final

import trio

__all__ = ["Slot", "Slots"]

_MOST_WAITING: Final = 10_000
"""The limit of the queue: each waiting run keeps a request in memory. A supervisor that sends more has a defect."""


class Slot:
    """A place for one agent when `granted` is set. Before that, a place in the queue."""

    def __init__(self, slots: Slots) -> None:
        self.granted = trio.Event()
        self._slots = slots

    def release(self) -> None:
        """Pass the slot to the next run. Call this once, even if the slot was never granted."""
        self._slots.release(self)


class Slots:
    """Slots for `count` agents, with or without a queue."""

    def __init__(self, count: int, *, queue: bool) -> None:
        self._free = count
        self._most_waiting = _MOST_WAITING if queue else 0
        self._waiting: deque[Slot] = deque()

    def claim(self) -> Slot | None:
        """Return a slot, which is granted now or later in order. Return None if the queue is full."""
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
        """Release a slot; see `Slot.release`."""
        if not slot.granted.is_set():
            self._waiting.remove(slot)
        elif self._waiting:
            self._waiting.popleft().granted.set()
        else:
            self._free += 1
