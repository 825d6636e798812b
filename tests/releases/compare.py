"""Compare the output of a release with its recording, except for known variations."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import msgspec

from .subject import Line, Variation

__all__ = ["Comparison", "compare"]

SHOWN = 12
"""Lines of a difference; whoever wants more of it plays the case by itself."""


class Comparison(NamedTuple):
    """`explained` names the variations without which the two would differ; `difference` is a diff, empty if none."""

    explained: tuple[str, ...] = ()
    difference: str = ""


def compare(possible: Sequence[Variation], before: bytes, now: bytes) -> Comparison:
    """Compare the stable forms of two runs, except for the possible variations."""
    if before == now:
        return Comparison()
    try:
        was, is_now = _decoded(before), _decoded(now)
    except msgspec.DecodeError:
        return Comparison(difference=_diff(before, now))
    for few in _subsets(possible):
        if _reduced(was, few) == _reduced(is_now, few):
            return Comparison(tuple(variation.name for variation in few))
    return Comparison(difference=_diff(before, now))


def _subsets(variations: Sequence[Variation]) -> Iterator[tuple[Variation, ...]]:
    """The fewest first, so that nothing is named that explains nothing."""
    return chain.from_iterable(combinations(variations, size) for size in range(1, len(variations) + 1))


def _reduced(lines: list[Line], variations: Sequence[Variation]) -> list[Line]:
    for variation in variations:
        lines = variation.reduce(lines)
    return lines


def _decoded(stdout: bytes) -> list[Line]:
    return [msgspec.json.decode(line, type=dict[str, Any]) for line in stdout.split(b"\n") if line]


def _diff(before: bytes, now: bytes) -> str:
    was, is_now = (form.decode(errors="backslashreplace").split("\n") for form in (before, now))
    lines = list(difflib.unified_diff(was, is_now, "before", "now", n=0, lineterm=""))
    more = [f"and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
    return "\n".join([*(line[:400] for line in lines[:SHOWN]), *more])
