"""Find many byte strings at once, in time that hardly depends on how many they are (X5)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from codex_adapter.core.masking.escapes import Span

__all__ = ["Needles"]

_FEW: Final = 20
"""Up to so many are searched for one by one: each search runs at the speed of memory."""


class Needles:
    """Byte strings to search for; many are fast where none is shorter than 7 bytes.

    A needle of `2 * n - 1` bytes has a whole aligned block of `n` bytes wherever it is. So of many needles the text's
    aligned blocks are looked up in one set, which has each needle's first `n` blocks.
    """

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._needles = sorted(set(needles), key=len, reverse=True)
        shortest = len(self._needles[-1]) if self._needles else 0
        self._size = next((size for size in (8, 4) if shortest >= 2 * size - 1), 0)
        self.longest = len(self._needles[0]) if self._needles else 0

    def may_be_in(self, data: bytes) -> bool:
        """Return whether one of them could be in `data`: never a wrong 'no'."""
        if len(self._needles) <= _FEW or not self._size:
            # No generator: this is called for every read.
            for needle in self._needles:  # noqa: SIM110
                if needle in data:
                    return True
            return False
        view = memoryview(data.ljust(-(-len(data) // 8) * 8))
        return not self._blocks.isdisjoint(view.cast("Q") if self._size == 8 else view.cast("I"))

    def places(self, data: bytes) -> list[Span]:
        """Return where they are in `data`; one needle's places do not overlap each other."""
        found: list[Span] = []
        if not self.may_be_in(data):
            return found
        for needle in self._needles:
            start = data.find(needle)
            while start >= 0:
                end = start + len(needle)
                found.append((start, end))
                start = data.find(needle, end)
        return found

    @cached_property
    def _blocks(self) -> frozenset[int]:
        size = self._size
        starts = b"".join([needle[start : start + size] for needle in self._needles for start in range(size)])
        view = memoryview(starts)
        return frozenset(view.cast("Q") if size == 8 else view.cast("I"))
