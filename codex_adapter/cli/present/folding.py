"""Fold warnings and notices that are repeated, line by line as they arrive (C19)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from codex_adapter.cli.present.repeated_warnings import Repeats
from codex_adapter.cli.present.wording import amount

if TYPE_CHECKING:
    from codex_adapter.cli.present.narration import Line

__all__ = ["Folding"]

_FOLDED: Final = frozenset({"notice", "warning"})


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
