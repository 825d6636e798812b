"""What a run consists of to whoever looks back at it: spans, tool calls, texts, notes and turns (C10).

Times are seconds since 1970, and None where the records have none; then the places in the stream tell the order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from codex_adapter.events import ToolCall
from codex_adapter.text import AssembledText

__all__ = ["Call", "Entry", "Gap", "Level", "Note", "Outcome", "Span", "Text", "Turn", "place_of"]

Level: TypeAlias = Literal["error", "warning", "notice"]
Outcome: TypeAlias = Literal["completed", "failed", "cut_off", "unanswered", "open"]
"""How a turn or a tool call ended: `unanswered` is a call without a result of its own (M9), `open` is not ended yet."""


@dataclass(slots=True)
class Span:
    """From where to where something went on; `last` is None while it does, a time is None where nobody wrote it."""

    first: int
    began: float | None
    last: int | None = None
    ended: float | None = None

    @property
    def seconds(self) -> float | None:
        """How long it took, where that is known."""
        return None if self.began is None or self.ended is None else max(0.0, self.ended - self.began)


@dataclass(slots=True)
class Call:
    """One tool call: `facet` is the last that was told of it, `span` is a point where its start was not told.

    `opening` is its first facet: some tell what was asked only there.
    """

    opening: ToolCall
    facet: ToolCall
    span: Span
    started: bool
    outcome: Outcome = "open"

    @property
    def telling(self) -> ToolCall:
        """Of its facets the last that says what was asked, or the last of all."""
        return self.facet if self.facet.input is not None or self.opening.input is None else self.opening

    @property
    def seconds(self) -> float | None:
        """How long it took; None where its start or its end was not told."""
        return self.span.seconds if self.started else None


@dataclass(slots=True)
class Text:
    """What the agent said or thought, as of the last event of it."""

    seq: int
    time: float | None
    said: AssembledText


@dataclass(slots=True)
class Note:
    """An error, a warning, or something that was left out."""

    seq: int
    time: float | None
    level: Level
    text: str
    times: int = 1
    """How often it was told; `last` is its text the last time where it was repeated."""
    last: str = ""


@dataclass(slots=True)
class Gap:
    """Records that are not there, before that of `seq`."""

    seq: int
    time: float | None
    missing: int


Entry: TypeAlias = Call | Text | Note | Gap


@dataclass(slots=True)
class Turn:
    """One turn, with what happened in it, in the order in which it began."""

    span: Span
    outcome: Outcome = "open"
    usage: dict[str, int] | None = None
    entries: list[Entry] = field(default_factory=list)

    @property
    def calls(self) -> list[Call]:
        """The tool calls among them."""
        return [entry for entry in self.entries if isinstance(entry, Call)]


def place_of(entry: Entry) -> int:
    """The `seq` at which an entry begins."""
    return entry.span.first if isinstance(entry, Call) else entry.seq
