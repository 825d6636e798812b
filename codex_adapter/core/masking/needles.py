"""Find many byte strings at once, in time that hardly depends on their number (X5)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from codex_adapter.core.masking.escapes import Span

__all__ = ["Needles"]

_FEW: Final = 20
"""Up to this many strings are searched one by one, which is fast."""


class Needles:
    """Byte strings to search for. Many strings are fast if none is shorter than 7 bytes.

    A needle of `2 * n - 1` bytes contains a whole aligned block of `n` bytes at any position. So for many needles the
    text's aligned blocks are looked up in one set, which has the first `n` blocks of each needle.
    """

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._needles = sorted(set(needles), key=len, reverse=True)
        shortest = len(self._needles[-1]) if self._needles else 0
        self._size = next((size for size in (8, 4) if shortest >= 2 * size - 1), 0)
        self.longest = len(self._needles[0]) if self._needles else 0

    def may_be_in(self, data: bytes) -> bool:
        """Return whether one of the strings could be in `data`. The result is never wrongly False."""
        if len(self._needles) <= _FEW or not self._size:
            # A loop instead of a generator, because this is called for every read.
            for needle in self._needles:  # noqa: SIM110
                if needle in data:
                    return True
            return False
        view = memoryview(data.ljust(-(-len(data) // 8) * 8))
        return not self._blocks.isdisjoint(view.cast("Q") if self._size == 8 else view.cast("I"))

    def places(self, data: bytes) -> list[Span]:
        """Return where the strings are in `data`. The places of one string do not overlap."""
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
