"""Define the parts of a past run: spans, tool calls, texts, notes and turns (C10).

Times are seconds since 1970, and None if the records have none. Then `seq` is the order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from codex_adapter.events import ToolCall
from codex_adapter.text import AssembledText

__all__ = ["Call", "Entry", "Gap", "Level", "Note", "Outcome", "Span", "Text", "Turn", "place_of"]

Level: TypeAlias = Literal["error", "warning", "notice"]
Outcome: TypeAlias = Literal["completed", "failed", "cut_off", "unanswered", "open"]
"""How a turn or a tool call ended: `unanswered` is a call without its own result, `open` has not ended (M9)."""


@dataclass(slots=True)
class Span:
    """The first and last `seq` of something, with times. `last` is `None` before the end; an unknown time is `None`."""

    first: int
    began: float | None
    last: int | None = None
    ended: float | None = None

    @property
    def seconds(self) -> float | None:
        """The duration, None if it is unknown."""
        return None if self.began is None or self.ended is None else max(0.0, self.ended - self.began)


@dataclass(slots=True)
class Call:
    """One tool call: `facet` is from its last event. `span` is a point if the start has no event.

    `opening` is from its first event: some calls have their input only there.
    """

    opening: ToolCall
    facet: ToolCall
    span: Span
    started: bool
    outcome: Outcome = "open"

    @property
    def described(self) -> ToolCall:
        """The last facet that has an input, else the last facet."""
        return self.facet if self.facet.has_input or not self.opening.has_input else self.opening

    @property
    def seconds(self) -> float | None:
        """The duration; None if the start or the end has no event."""
        return self.span.seconds if self.started else None


@dataclass(slots=True)
class Text:
    """A message or a thought of the agent, as of its last event."""

    seq: int
    time: float | None
    content: AssembledText


@dataclass(slots=True)
class Note:
    """An error, a warning, or a notice about missing details."""

    seq: int
    time: float | None
    level: Level
    text: str
    times: int = 1
    """The number of occurrences; `last` is the text of the last repetition."""
    last: str = ""


@dataclass(slots=True)
class Gap:
    """Missing records directly before the record `seq`."""

    seq: int
    time: float | None
    missing: int


Entry: TypeAlias = Call | Text | Note | Gap


@dataclass(slots=True)
class Turn:
    """One turn, with its entries in the order of their start."""

    span: Span
    outcome: Outcome = "open"
    usage: dict[str, int] | None = None
    entries: list[Entry] = field(default_factory=list)

    @property
    def calls(self) -> list[Call]:
        """The tool calls among the entries."""
        return [entry for entry in self.entries if isinstance(entry, Call)]


def place_of(entry: Entry) -> int:
    """Return the `seq` at which an entry starts."""
    return entry.span.first if isinstance(entry, Call) else entry.seq
