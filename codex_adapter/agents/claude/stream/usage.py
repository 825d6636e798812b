"""Read the token counts at the end of a turn, and add up those of a run (M6, F10)."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Final

import msgspec

__all__ = ["add_counts", "counts"]

_MOST_COUNTS: Final = 64
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def counts(usage: dict[str, msgspec.Raw], mask: Callable[[str], str]) -> dict[str, int]:
    """Return the integers of a usage by their names (M6)."""
    found: dict[str, int] = {}
    for name, raw in islice(usage.items(), _MOST_COUNTS):
        digits = bytes(raw)
        if digits.isdigit() and len(digits) <= 18 and _NAME.fullmatch(name):
            found[mask(name)] = int(digits)
    return found


def add_counts(first: dict[str, int] | None, second: dict[str, int] | None) -> dict[str, int] | None:
    """Return the sum of two usages, None if one of them is unknown (F10)."""
    if first is None or second is None:
        return None
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
