"""Read the counts of tokens that an agent CLI reports under its own names (M6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

import msgspec

__all__ = ["MOST_COUNTS", "PLAIN_NAME", "read_counts"]

PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""A name of the CLI that an event can have (M0, M6)."""
MOST_COUNTS: Final = 64
_MOST_DIGITS: Final = 18


def read_counts(usage: Mapping[str, msgspec.Raw]) -> Iterator[tuple[str, int]]:
    """Yield the whole numbers among the first 64 members of a usage, with their names, which are not masked yet."""
    for name, raw in islice(usage.items(), MOST_COUNTS):
        digits = bytes(raw)
        if digits.isdigit() and len(digits) <= _MOST_DIGITS and PLAIN_NAME.fullmatch(name):
            yield name, int(digits)
