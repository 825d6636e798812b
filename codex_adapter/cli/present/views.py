"""Show items of one kind, as records for a program or as lines for a person (C7)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from codex_adapter import Completion, Event
from codex_adapter.cli.output import Output
from codex_adapter.records import encode_completion, encode_events

if TYPE_CHECKING:
    from codex_adapter.cli.present.lines import Line, Tone
    from codex_adapter.cli.present.run_narration import RunItem

__all__ = [
    "Narrator",
    "View",
    "effective_form",
    "is_for_a_program",
    "line_printer",
    "lines_view",
    "live_view",
    "run_view",
]

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class View(Generic[T_contra]):
    """A conversion of items to bytes, whole lines at a time. It does no I/O."""

    refresh_seconds: float | None = None
    """Seconds after the last bytes until `refresh` must be called; None for never."""

    def __init__(self, show: Callable[[Sequence[T_contra]], bytes]) -> None:
        self._show = show

    def show(self, items: Sequence[T_contra]) -> bytes:
        """Return the bytes to write for these items."""
        return self._show(items)

    def refresh(self) -> bytes:
        """Return the bytes to write after a while without items."""
        return b""

    def end(self) -> bytes:
        """Return the bytes that remove the live lines, at the end."""
        return b""


class Narrator(Protocol[T_contra]):
    """A conversion of items to lines, with the lines of current activity."""

    @property
    def live_tones(self) -> frozenset[Tone]:
        """The tones of lines that a terminal shows only while they are live."""

    @property
    def live(self) -> Sequence[Line]:
        """The lines of current activity."""

    def narrate(self, item: T_contra) -> Iterable[Line]:
        """Return the lines of an item."""


class _RunRecords:
    """An encoder of the records of a run, one for each line: several events, or one outcome (W1, W2)."""

    def __init__(self) -> None:
        self._next_seq = 0

    def __call__(self, items: Sequence[RunItem]) -> bytes:
        if isinstance(items[0], Event):
            events = cast("Sequence[Event]", items)
            self._next_seq = events[-1].seq + 1
            return encode_events(events)
        return encode_completion(self._next_seq, items[0])


def _final_text(items: Sequence[RunItem]) -> bytes:
    """Return the final text of a completion with a newline at its end; nothing for anything else (C7)."""
    texts = [item.final_text for item in items if isinstance(item, Completion) and item.final_text is not None]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts).encode()


def is_for_a_program(form: str | None, output: Output) -> bool:
    """Return whether to write records: if `form` is `jsonl`, or by default outside a terminal (C7)."""
    return effective_form(form, output) == "jsonl"


def effective_form(form: str | None, output: Output) -> str:
    """Return the form if set, else `pretty` on a terminal and `jsonl` elsewhere (C7)."""
    return form or ("pretty" if output.is_terminal else "jsonl")


def run_view(form: str, output: Output) -> View[RunItem]:
    """Return the view of one run: `jsonl`, `text`, or `pretty` (C7)."""
    if form == "text":
        return View(_final_text)
    if form == "jsonl":
        return View(_RunRecords())
    from codex_adapter.cli.present.run_narration import RunNarrator  # noqa: PLC0415 - most runs are for a program

    return live_view(RunNarrator(), output)


def live_view(narrator: Narrator[T], output: Output, *, unbroken: bool = False) -> View[T]:
    """Return a view with live lines if the terminal supports them and rich is installed, else without (C7)."""
    if _shows_colours(output):
        try:
            from codex_adapter.cli.present.terminal import LiveView  # noqa: PLC0415 - rich is optional, and slow to load
        except ImportError:
            pass
        else:
            return LiveView(narrator, output.fd, unbroken=unbroken)
    return lines_view(narrator.narrate, output)


def lines_view(narrate: Callable[[T], Iterable[Line]], output: Output, *, unbroken: bool = False) -> View[T]:
    """Return a view that prints all lines, without live lines."""
    print_lines = line_printer(output, unbroken=unbroken)
    return View(lambda items: print_lines(line for item in items for line in narrate(item)))


def line_printer(output: Output, *, unbroken: bool = False) -> Callable[[Iterable[Line]], bytes]:
    """Return a printer of lines, in colours under the same conditions as `live_view` (C7).

    With `unbroken`, only the terminal itself wraps lines, so that a copied command stays in one piece.
    """
    if _shows_colours(output):
        try:
            from codex_adapter.cli.present.terminal import StyledLines  # noqa: PLC0415 - as above
        except ImportError:
            pass
        else:
            return StyledLines(output.fd, unbroken=unbroken)
    from codex_adapter.cli.present.lines import plain_text  # noqa: PLC0415 - as above

    return plain_text


def _shows_colours(output: Output) -> bool:
    """Return whether standard output is a terminal with colours and cursor movements (C7)."""
    return output.is_terminal and os.environ.get("TERM", "dumb") != "dumb"
