"""The tokens that the CLI counts at a turn's end, and the share of them that is a run's own (M6, F10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from codex_adapter.agents.codex.stream.lines import PLAIN_NAME

__all__ = ["RunShare", "counts"]

_MOST_COUNTS = 64


def counts(said: Mapping[str, Any], mask: Callable[[str], str]) -> dict[str, int]:
    """The integers of a usage under plain names, which are masked, no more than 64 of them (M6, X5)."""
    return {
        mask(name): count
        for name, count in islice(said.items(), _MOST_COUNTS)
        if type(count) is int and abs(count) < 2**63 and PLAIN_NAME.fullmatch(name)
    }


class RunShare:
    """What one run used of what the CLI counts.

    `before` is what the session it goes on with had used by then; None for a session of its own, and when nobody knows.
    Then, and for a run of more turns than one, there is nothing to tell (F10).
    """

    def __init__(self, before: Mapping[str, int] | None, mask: Callable[[str], str]) -> None:
        self._before = None if before is None else {mask(name): count for name, count in before.items()}
        self._turns = 0

    def at_turn_end(self, counted: Mapping[str, int] | None) -> dict[str, int] | None:
        """The run's own tokens as of a turn's end; None when they are not known (F10)."""
        self._turns += 1
        if counted is None or self._before is None or self._turns > 1:
            return None
        own = {name: count - self._before.get(name, 0) for name, count in counted.items()}
        # Less than nothing says that what was before is not what the CLI has counted on from.
        return own if min(own.values(), default=0) >= 0 else None
