"""Read the token counts at the end of a turn, and compute the tokens of one run (M6, F10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from codex_adapter.core.token_counts import MOST_COUNTS, PLAIN_NAME

__all__ = ["RunShare", "counts"]


def counts(usage: Mapping[str, Any], mask: Callable[[str], str]) -> dict[str, int]:
    """Return the integers of a usage with plain names, which are masked. Return at most 64. (M6, X5)"""
    return {
        mask(name): count
        for name, count in islice(usage.items(), MOST_COUNTS)
        if type(count) is int and abs(count) < 2**63 and PLAIN_NAME.fullmatch(name)
    }


class RunShare:
    """The tokens of one run, computed from the counts of its session.

    `before` has the counts of the continued session before the run, or None for a new session or if they are unknown.
    If it is None, or if the run has several turns, the tokens of the run are unknown. (F10)
    """

    def __init__(self, before: Mapping[str, int] | None, mask: Callable[[str], str]) -> None:
        self._before = None if before is None else {mask(name): count for name, count in before.items()}
        self._turns = 0

    def at_turn_end(self, counted: Mapping[str, int] | None) -> dict[str, int] | None:
        """Return the run's own tokens at the end of a turn, None if they are unknown (F10)."""
        self._turns += 1
        if counted is None or self._before is None or self._turns > 1:
            return None
        own = {name: count - self._before.get(name, 0) for name, count in counted.items()}
        # A negative number shows that the CLI did not continue from the counts in `before`.
        return own if min(own.values(), default=0) >= 0 else None
