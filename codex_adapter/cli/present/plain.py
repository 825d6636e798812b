"""A run as plain lines of text, for a person, where no terminal is there to be moved about in (C7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from codex_adapter import AdapterError, Completion, Event
from codex_adapter.cli.present.narration import Line, Narrator, Tone

__all__ = ["PREFIXES", "PlainView", "plain_text"]

PREFIXES: Final[dict[Tone, str]] = {
    "answer": "",
    "thought": "~ ",
    "started": "> ",
    "ok": "+ ",
    "failed": "x ",
    "output": "  | ",
    "plan": "  ",
    "notice": "# ",
    "warning": "! ",
    "error": "! ",
}


class PlainView:
    """No escape code ever; tells what a tool call begins with and what it came to."""

    refresh_seconds: float | None = None
    shows_hint = True

    def __init__(self) -> None:
        self._narrator = Narrator()

    def events(self, batch: Sequence[Event]) -> bytes:
        """As `View.events`."""
        return plain_text(line for event in batch for line in self._narrator.tell(event))

    def refresh(self) -> bytes:
        """Nothing."""
        return b""

    def completion(self, outcome: Completion | AdapterError) -> bytes:
        """As `View.completion`."""
        return plain_text(self._narrator.end(outcome))


def plain_text(lines: Iterable[Line]) -> bytes:
    """The lines, each with the sign of its kind before it."""
    return b"".join(map(_lines, lines))


def _lines(line: Line) -> bytes:
    prefix = PREFIXES[line.tone]
    return "".join(f"{prefix}{text}".rstrip() + "\n" for text in line.text.split("\n")).encode()
