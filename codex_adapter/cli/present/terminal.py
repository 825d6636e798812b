"""Draw lines on a terminal: past lines scroll up, current lines stay below them (C7, C12)."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text
from typing_extensions import override

from codex_adapter.cli.present.lines import Line, Tone
from codex_adapter.cli.present.views import Narrator, View

__all__ = ["LiveView", "StyledLines"]

T_contra = TypeVar("T_contra", contravariant=True)

_STYLES: Final[dict[Tone, tuple[str, str]]] = {
    "answer": ("", ""),
    "thought": ("", "dim italic"),
    "started": ("… ", "cyan"),
    "ok": ("✓ ", "green"),
    "failed": ("✗ ", "red"),
    "output": ("  │ ", "dim"),
    "plan": ("  ", "magenta"),
    "notice": ("  ", "dim"),
    "warning": ("! ", "yellow"),
    "error": ("✗ ", "bold red"),
    "waiting": ("", "cyan"),
}
"""The sign before each line and its style."""
_MARKDOWN: Final[frozenset[Tone]] = frozenset({"answer", "thought"})
"""The tones of texts that the agent writes as Markdown."""
_SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TURNS_PER_SECOND: Final = 12.5


class StyledLines:
    """A printer of lines in colours. `fd` is the terminal; only its size is read.

    With `unbroken`, the terminal itself wraps a long line, so that a copied path stays in one piece.
    """

    def __init__(self, fd: int, *, unbroken: bool = False) -> None:
        self._fd = fd
        self._unbroken = unbroken

    def __call__(self, lines: Iterable[Line]) -> bytes:
        """Return the bytes that show the lines."""
        paper = io.StringIO()
        console = Console(file=paper, force_terminal=True, markup=False, emoji=False, highlight=False)
        _fit(console, self._fd)
        for line in lines:
            _print(console, line, unbroken=self._unbroken)
        return paper.getvalue().encode()


class LiveView(View[T_contra]):
    """A view that prints the lines of a narrator above its live lines. `fd` is the terminal; only its size is read."""

    refresh_seconds = 0.25

    def __init__(self, narrator: Narrator[T_contra], fd: int, *, unbroken: bool = False) -> None:
        self._narrator = narrator
        self._fd = fd
        self._unbroken = unbroken
        self._ended = False
        self._paper = io.StringIO()
        self._console = Console(
            file=self._paper, force_terminal=True, force_interactive=True, markup=False, emoji=False, highlight=False
        )
        self._live: Live | None = None

    @override
    def show(self, items: Sequence[T_contra]) -> bytes:
        for item in items:
            plan = [line for line in self._narrator.live if line.tone == "plan"]
            lines = [line for line in self._narrator.narrate(item) if line.tone not in self._narrator.live_tones]
            _fit(self._console, self._fd)
            if not self._narrator.live:
                # Keep the last state of the plan on the screen.
                self._stop()
                lines = [*plan, *lines]
            for line in lines:
                _print(self._console, line, unbroken=self._unbroken)
        return self.refresh()

    @override
    def refresh(self) -> bytes:
        if self._ended or not self._narrator.live:
            self._stop()
        else:
            _fit(self._console, self._fd)
            self._live = self._live or self._start()
            self._live.refresh()
        text = self._paper.getvalue()
        self._paper.seek(0)
        self._paper.truncate()
        return text.encode()

    @override
    def end(self) -> bytes:
        self._ended = True
        return self.refresh()

    def _start(self) -> Live:
        live = Live(
            get_renderable=self._now,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        live.start()
        # Without this the cursor would stay hidden after a SIGKILL.
        self._console.show_cursor(True)
        return live

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _now(self) -> RenderableType:
        return Group(*map(_live_text, self._narrator.live))


def _live_text(line: Line) -> Text:
    sign, style = _STYLES[line.tone]
    if line.tone == "waiting":
        sign = f"{_SPINNER[int(time.monotonic() * _TURNS_PER_SECOND) % len(_SPINNER)]} "
    cut = line.tone != "plan"
    return Text(sign + line.text, style=style, no_wrap=cut, overflow="ellipsis" if cut else None)


def _print(console: Console, line: Line, *, unbroken: bool) -> None:
    sign, style = _STYLES[line.tone]
    if line.tone not in _MARKDOWN:
        console.print(Text(sign + line.text, style=style), soft_wrap=unbroken)
        return
    from codex_adapter.cli.present.pretty_markdown import message  # noqa: PLC0415 - slow to load, and not always needed

    shown = message(line.text, style)
    console.print(shown, soft_wrap=unbroken and isinstance(shown, Text))


def _fit(console: Console, fd: int) -> None:
    """Set the console's size to the terminal's size, if it is known: some terminals report a width of zero."""
    with suppress(OSError):
        size = os.get_terminal_size(fd)
        if size.columns > 0 and size.lines > 0:
            console.size = size
