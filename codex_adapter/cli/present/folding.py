"""Recognize warnings and notices that repeat earlier ones, and replace them with counts, line by line (C19)."""

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
"""Parts that differ between two reports of one problem: the number of the attempt, a delay, the id of a request."""
_MOST_KNOWN: Final = 256
"""The limit of texts to remember. Later texts are shown each time."""


class Repeats(Generic[T]):
    """A memory of texts, each with a value.

    A text with a variable part, such as `Reconnecting... 2/5`, repeats a text that differs only in that part, until
    something else happens: the same problem after more work is new. Any other text repeats an equal text of the run.
    """

    def __init__(self) -> None:
        self._of_run: dict[str, T] = {}
        self._of_stretch: dict[str, T] = {}

    def find(self, text: str) -> T | None:
        """Return the value of the text that this one repeats."""
        key = _MOVING.sub("#", text)
        return (self._of_run if key == text else self._of_stretch).get(key)

    def add(self, text: str, value: T) -> None:
        """Remember a text that does not repeat another."""
        if len(self._of_run) + len(self._of_stretch) < _MOST_KNOWN:
            key = _MOVING.sub("#", text)
            (self._of_run if key == text else self._of_stretch)[key] = value

    def interrupt(self) -> None:
        """Note that something else happened."""
        self._of_stretch.clear()


@dataclass(slots=True)
class _Shown:
    """A line that was shown: its stretch, the last text that repeated it, and the number of repetitions since then."""

    line: Line
    stretch: int
    last: str
    more: int = 0

    @property
    def is_attempt(self) -> bool:
        """Whether the last text differs from the first in a variable part."""
        return self.last != self.line.text


class Folding:
    """A filter that returns each line once.

    The count of its repetitions is a separate line: when something else happens, or at the end for later repetitions.
    The count of attempts is shown before any new text.
    """

    def __init__(self) -> None:
        self._repeats: Repeats[_Shown] = Repeats()
        self._stretch = 0  # ends when something else happens
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
        # Attempts end before a different text. An equal text can be repeated between others, and is counted later.
        counts = self._counts(
            [known for known in self._repeated if known.is_attempt and known.stretch == self._stretch]
        )
        shown = _Shown(line, self._stretch, line.text)
        self._repeats.add(line.text, shown)
        self._last = line.text
        return [*counts, line]

    def _counts(self, repeated: list[_Shown]) -> list[Line]:
        lines = []
        for shown in repeated:
            lines.append(shown.line._replace(text=_count(shown, after=self._last)))
            shown.more, self._last = 0, ""
        self._repeated = [shown for shown in self._repeated if shown.more]
        return lines


def _count(shown: _Shown, after: str | None = None) -> str:
    """Return how often a line was repeated, without its text if the text is directly above."""
    times = amount(shown.more, "more time")
    return times if shown.last == after else f"{times}: {shown.last.partition(chr(10))[0]}"
