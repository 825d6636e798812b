"""What rich would draw on a terminal, as bytes: lines that scroll by, and a part below them that moves (C7, C12)."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import suppress

from rich.console import Console, RenderableType
from rich.live import Live

__all__ = ["LivePaper", "fit"]


class LivePaper:
    """Draws what `now` gives below all that was printed; `fd` is the terminal, asked for nothing but its size."""

    def __init__(self, fd: int, now: Callable[[], RenderableType]) -> None:
        self._fd = fd
        self._paper = io.StringIO()
        self._console = Console(
            file=self._paper, force_terminal=True, force_interactive=True, markup=False, emoji=False, highlight=False
        )
        self._live = Live(
            get_renderable=now,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def print(self, line: RenderableType) -> None:
        """A line that scrolls by."""
        fit(self._console, self._fd)
        self._console.print(line)

    def refresh(self) -> bytes:
        """All that was printed, and the moving part anew."""
        fit(self._console, self._fd)
        if not self._live.is_started:
            self._live.start()
            # Nobody would show it again if we were killed.
            self._console.show_cursor(True)
        self._live.refresh()
        return self.take()

    def stop(self) -> None:
        """Draw nothing below any more."""
        self._live.stop()

    def take(self) -> bytes:
        """What is to be written; nothing is kept of it."""
        text = self._paper.getvalue()
        self._paper.seek(0)
        self._paper.truncate()
        return text.encode()


def fit(console: Console, fd: int) -> None:
    """Have the terminal's size, where it has one: some tell that they are nothing wide."""
    with suppress(OSError):
        size = os.get_terminal_size(fd)
        if size.columns > 0 and size.lines > 0:
            console.size = size
