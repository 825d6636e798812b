"""Read the token counts of answers and turns, and add up those of a run (M6, F10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, TypeAlias

import msgspec

from codex_adapter.core.token_counts import MOST_COUNTS, read_counts

__all__ = ["RunTokens", "counts"]


def counts(usage: dict[str, msgspec.Raw], mask: Callable[[str], str]) -> dict[str, int]:
    """Return the integers of a usage by their names (M6)."""
    return {mask(name): count for name, count in read_counts(usage)}


_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=10**18)]


class _Answer(msgspec.Struct, gc=False):
    """The counts of an answer. Other numbers in its usage are parts of these."""

    input_tokens: _Count = 0
    cache_creation_input_tokens: _Count = 0
    cache_read_input_tokens: _Count = 0
    output_tokens: _Count = 0

    def add(self, other: _Answer) -> None:
        """Add the counts of another answer."""
        self.input_tokens += other.input_tokens
        self.cache_creation_input_tokens += other.cache_creation_input_tokens
        self.cache_read_input_tokens += other.cache_read_input_tokens
        self.output_tokens += other.output_tokens

    def largest(self, other: _Answer) -> _Answer:
        """Return the larger one of each count."""
        return _Answer(*map(max, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))


class RunTokens:
    """The tokens of one run: those of its turns that ended, and those that the answers of the open turn reported (F10).

    All lines of an answer repeat the counts of its beginning. Those of its end are only in partial messages.
    """

    __slots__ = ("_current", "_ended", "_id", "_mask", "_open", "known")

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._ended: dict[str, int] = {}
        self._open, self._current = _Answer(), _Answer()
        """The counts of the earlier answers of the open turn, and those of the current answer."""
        self._id = ""
        self.known = True
        """Whether each turn that ended had its counts."""

    def at_answer(self, message_id: str, usage: msgspec.Raw) -> None:
        """Count a line of an answer (F15)."""
        try:
            counted = _decode(usage)
        except Exception:  # noqa: BLE001 - a usage of another shape counts nothing
            return
        if message_id == self._id:
            counted = self._current.largest(counted)
        else:
            self._open.add(self._current)
            self._id = message_id
        self._current = counted

    def at_turn_end(self, usage: dict[str, int] | None) -> dict[str, int]:
        """Return the least tokens of the run at the end of a turn with this usage. If it is None, they are unknown."""
        self.known = self.known and usage is not None
        # The CLI reports no tokens of some answers that were cut or interrupted.
        self._ended = _sum(self._ended, _largest(usage or {}, self._open_turn()))
        self._open, self._current = _Answer(), _Answer()
        return self._ended

    def so_far(self) -> dict[str, int]:
        """Return the least tokens of the run until now (F15)."""
        return _sum(self._ended, self._open_turn())

    def _open_turn(self) -> dict[str, int]:
        turn = _Answer()
        turn.add(self._open)
        turn.add(self._current)
        return {self._mask(name): count for name, count in msgspec.structs.asdict(turn).items() if count}


def _sum(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in _names(first, second)}


def _largest(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in _names(first, second)}


def _names(first: dict[str, int], second: dict[str, int]) -> Iterable[str]:
    return islice({**first, **second}, MOST_COUNTS)


_decode: Callable[[msgspec.Raw], _Answer] = msgspec.json.Decoder(_Answer).decode
