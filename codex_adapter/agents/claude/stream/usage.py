"""Read the token counts of answers and turns, and add up those of a run (M6, F10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

import msgspec

__all__ = ["RunTokens", "counts"]

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


class RunTokens:
    """The tokens of one run: those of its turns that ended, and those that the answers of the open turn reported (F10).

    All lines of an answer repeat the counts of its beginning. Those of its end are only in partial messages.
    """

    __slots__ = ("_answer", "_answers", "_ended", "_id", "_mask", "known")

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._ended: dict[str, int] = {}
        self.known = True
        """Whether each turn that ended had its counts."""
        self._answers: dict[str, int] = {}
        """The counts of the earlier answers of the open turn."""
        self._id = ""
        self._answer: dict[str, int] = {}
        """The counts of the current answer."""

    def at_answer(self, message_id: str, usage: msgspec.Raw) -> dict[str, int]:
        """Return the least tokens of the run after a line of an answer."""
        if message_id != self._id:
            self._answers = _sum(self._answers, self._answer)
            self._id, self._answer = message_id, {}
        self._answer = _largest(self._answer, self._read(usage))
        return _sum(self._ended, self._open_turn())

    def at_turn_end(self, usage: dict[str, int] | None) -> dict[str, int]:
        """Return the least tokens of the run at the end of a turn with this usage. If it is None, they are unknown."""
        self.known = self.known and usage is not None
        # The CLI reports no tokens of some answers that were cut or interrupted.
        self._ended = _sum(self._ended, _largest(usage or {}, self._open_turn()))
        self._answers = self._answer = {}
        return self._ended

    def _open_turn(self) -> dict[str, int]:
        return _sum(self._answers, self._answer)

    def _read(self, usage: msgspec.Raw) -> dict[str, int]:
        try:
            return counts(_decode(usage), self._mask)
        except Exception:  # noqa: BLE001 - a usage of another shape counts nothing
            return {}


def _sum(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in _names(first, second)}


def _largest(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in _names(first, second)}


def _names(first: dict[str, int], second: dict[str, int]) -> Iterable[str]:
    return islice({**first, **second}, _MOST_COUNTS)


_decode: Callable[[msgspec.Raw], dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
