"""The forms in which a run is shown: records for a program, text for a person (C7)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from codex_adapter import AdapterError, Completion, Event
from codex_adapter.cli.output import Output
from codex_adapter.records import encode_completion, encode_events

if TYPE_CHECKING:
    from codex_adapter.cli.present.narration import Line

__all__ = [
    "AnswerView",
    "JsonLines",
    "View",
    "can_show_colours",
    "choose_view",
    "is_for_a_program",
    "line_printer",
    "text_view",
]


class View(Protocol):
    """Turns one run into bytes, whole lines at a time; it does no I/O."""

    @property
    def shows_hint(self) -> bool:
        """Whether the view itself says why a run failed, in a sentence (F9)."""

    @property
    def refresh_seconds(self) -> float | None:
        """How long after the last bytes `refresh` is to be called; None for never."""

    def events(self, batch: Sequence[Event]) -> bytes:
        """What to write for these events."""

    def refresh(self) -> bytes:
        """What to write when nothing has happened for a while."""

    def completion(self, outcome: Completion | AdapterError) -> bytes:
        """What to write at the end."""


class JsonLines:
    """The records, one a line (W1, W2)."""

    refresh_seconds: float | None = None
    shows_hint = False

    def __init__(self) -> None:
        self._next_seq = 0

    def events(self, batch: Sequence[Event]) -> bytes:
        """As `View.events`."""
        self._next_seq = batch[-1].seq + 1
        return encode_events(batch)

    def refresh(self) -> bytes:
        """Nothing."""
        return b""

    def completion(self, outcome: Completion | AdapterError) -> bytes:
        """As `View.completion`."""
        return encode_completion(self._next_seq, outcome)


class AnswerView:
    """The answer alone, once it is complete (C7)."""

    refresh_seconds: float | None = None
    shows_hint = False

    def events(self, _batch: Sequence[Event]) -> bytes:
        """Return nothing."""
        return b""

    def refresh(self) -> bytes:
        """Return nothing."""
        return b""

    def completion(self, outcome: Completion | AdapterError) -> bytes:
        """Return the final text with a newline at its end; nothing for a run that has none."""
        text = outcome.final_text if isinstance(outcome, Completion) else None
        return b"" if text is None else text.encode() + (b"" if text.endswith("\n") else b"\n")


def is_for_a_program(form: str | None, output: Output) -> bool:
    """Whether records are to be written: by `form`, else elsewhere than on a terminal (C7)."""
    return form == "jsonl" or (form is None and not output.is_terminal)


def choose_view(form: str | None, output: Output) -> Callable[[], View]:
    """Return what makes the view of each run: by `form`, else `pretty` on a terminal and records elsewhere (C7)."""
    if form == "text":
        return AnswerView
    if is_for_a_program(form, output):
        return JsonLines
    return text_view(output)


def text_view(output: Output) -> Callable[[], View]:
    """The live view where the terminal can show it and rich is installed, plain lines elsewhere (C7)."""
    if can_show_colours(output):
        try:
            from codex_adapter.cli.present.pretty import LiveView  # noqa: PLC0415 - rich is optional, and slow to load
        except ImportError:
            pass
        else:
            return lambda: LiveView(output.fd)
    from codex_adapter.cli.present.plain import PlainView  # noqa: PLC0415 - most runs are shown to a program

    return PlainView


def line_printer(output: Output, *, unbroken: bool = False) -> Callable[[Iterable[Line]], bytes]:
    """What shows lines of which none is live: in colours under the same conditions as `text_view` (C7).

    With `unbroken` no line is broken but by the terminal itself: a command that is copied from it stays in one piece.
    """
    if can_show_colours(output):
        try:
            from codex_adapter.cli.present.pretty import StyledLines  # noqa: PLC0415 - as above
        except ImportError:
            pass
        else:
            return StyledLines(output.fd, unbroken=unbroken)
    from codex_adapter.cli.present.plain import plain_text  # noqa: PLC0415 - as above

    return plain_text


def can_show_colours(output: Output) -> bool:
    """Whether standard output is a terminal that takes colours and movements (C7)."""
    return output.is_terminal and os.environ.get("TERM", "dumb") != "dumb"
