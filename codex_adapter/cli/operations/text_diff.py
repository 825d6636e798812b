"""Compare two texts as a unified diff, in time proportional to their lines (O14).

The text may come from an attacker, and `difflib` needs quadratic time or more.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

__all__ = ["difference"]

_MOST_PAIRS: Final = 4_000_000
"""The limit of pairs of lines to compare. Above it, everything between the first and last change is one change."""
_AROUND: Final = 3


def difference(old: Sequence[str], new: Sequence[str], old_name: str, new_name: str) -> Iterator[str]:
    """Yield the lines of the diff; none if all lines are equal."""
    if len(old) * len(new) <= _MOST_PAIRS:
        yield from difflib.unified_diff(old, new, old_name, new_name, n=_AROUND, lineterm="")
        return
    first = _count_equal(old, new)
    last = _count_equal(old[first:][::-1], new[first:][::-1])
    if first + last == len(old) == len(new):
        return
    begin, old_end, new_end = max(first - _AROUND, 0), len(old) - last, len(new) - last
    around = min(last, _AROUND)
    yield f"--- {old_name}"
    yield f"+++ {new_name}"
    yield f" -{begin + 1},{old_end + around - begin} +{begin + 1},{new_end + around - begin} @@"
    yield from (f" {line}" for line in old[begin:first])
    yield from (f"-{line}" for line in old[first:old_end])
    yield from (f"+{line}" for line in new[first:new_end])
    yield from (f" {line}" for line in old[old_end : old_end + around])


def _count_equal(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines are equal from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
