"""What a change makes of a text, as a unified diff, in a time that grows with its lines alone (O14).

Whoever sends the text may want the comparing never to end, and `difflib` takes the square of the lines and more.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

__all__ = ["difference"]

_MOST_PAIRS: Final = 4_000_000
"""Pairs of lines, up to which all changes are told apart; where there are more, all of them are one."""
_AROUND: Final = 3


def difference(old: Sequence[str], new: Sequence[str], old_name: str, new_name: str) -> Iterator[str]:
    """The lines of the diff; none where all lines are the same."""
    if len(old) * len(new) <= _MOST_PAIRS:
        yield from difflib.unified_diff(old, new, old_name, new_name, n=_AROUND, lineterm="")
        return
    first = _alike(old, new)
    last = _alike(old[first:][::-1], new[first:][::-1])
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


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines are the same from the beginning on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
