"""Recognize warnings and notices that repeat earlier ones, and fold them into counts, line by line (C19)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from codex_adapter.cli.present.lines import Line
from codex_adapter.cli.present.wording import amount

__all__ = ["Folding", "Repeats"]

T = TypeVar("T")

_FOLDED: Final = frozenset({"notice", "warning"})
_MOVING: Final = re.compile(
    r"\b[0-9]+/[0-9]+\b"
    r"|\b[0-9]+(?:\.[0-9]+)? ?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b[0-9a-f]{16,}(?:-[A-Z]{3})?\b"
    r"|\b(?:req|resp)_[0-9A-Za-z]+\b"
)
"""What differs between two reports of one trouble: the number of the attempt, a delay, the id of a request."""
_MOST_KNOWN: Final = 256
"""Texts that are remembered; those after them are shown each time."""


class Repeats(Generic[T]):
    """Remembers texts, each with a value.

    A text with a moving part, as `Reconnecting... 2/5`, repeats one that differs in nothing else, until anything else
    happens: what is tried again after some work is news. Any other text repeats an equal one of the whole run.
    """

    def __init__(self) -> None:
        self._of_run: dict[str, T] = {}
        self._of_stretch: dict[str, T] = {}

    def find(self, text: str) -> T | None:
        """Return the value of the text that this one repeats."""
        key = _MOVING.sub("#", text)
        return (self._of_run if key == text else self._of_stretch).get(key)

    def add(self, text: str, value: T) -> None:
        """Remember a text that repeats none."""
        if len(self._of_run) + len(self._of_stretch) < _MOST_KNOWN:
            key = _MOVING.sub("#", text)
            (self._of_run if key == text else self._of_stretch)[key] = value

    def interrupt(self) -> None:
        """Note that something else has happened."""
        self._of_stretch.clear()


@dataclass(slots=True)
class _Shown:
    """A line that was shown, in which stretch, the last text that repeated it, and how often it was repeated since."""

    line: Line
    stretch: int
    last: str
    more: int = 0


class Folding:
    """Passes each line on once.

    How often a line was repeated is a line of its own, where something else happens; for what is repeated only later,
    at the end.
    """

    def __init__(self) -> None:
        self._repeats: Repeats[_Shown] = Repeats()
        self._stretch = 0  # ends where something else happens
        self._repeated: list[_Shown] = []
        self._last = ""

    @property
    def pending(self) -> list[str]:
        """The counts that are not shown yet."""
        return [_count(shown) for shown in self._repeated]

    def fold(self, lines: Iterable[Line]) -> list[Line]:
        """Return what to show for these lines."""
        return [shown for line in lines for shown in self._fold(line)]

    def end(self) -> list[Line]:
        """Return the counts that are not shown yet."""
        return self._counts(self._repeated)

    def _fold(self, line: Line) -> list[Line]:
        if line.tone not in _FOLDED:
            counts = self._counts([shown for shown in self._repeated if shown.stretch == self._stretch])
            self._stretch += 1
            self._repeats.interrupt()
            self._last = line.text
            return [*counts, line]
        known = self._repeats.find(line.text)
        if known is not None:
            known.last, known.more = line.text, known.more + 1
            if known.more == 1:
                self._repeated.append(known)
            return []
        shown = _Shown(line, self._stretch, line.text)
        self._repeats.add(line.text, shown)
        self._last = line.text
        return [line]

    def _counts(self, repeated: list[_Shown]) -> list[Line]:
        lines = []
        for shown in repeated:
            lines.append(shown.line._replace(text=_count(shown, after=self._last)))
            shown.more, self._last = 0, ""
        self._repeated = [shown for shown in self._repeated if shown.more]
        return lines


def _count(shown: _Shown, after: str | None = None) -> str:
    """Return how often a line was repeated, without its text where that stands right above."""
    times = amount(shown.more, "more time")
    return times if shown.last == after else f"{times}: {shown.last.partition(chr(10))[0]}"
