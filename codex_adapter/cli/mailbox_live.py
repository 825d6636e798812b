"""A mailbox on a terminal: what has happened scrolls by, and below it stands what is waited for (C12)."""

from __future__ import annotations

import io
import os
import time
from contextlib import suppress

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from codex_adapter.cli.mailbox_words import Words
from codex_adapter.cli.pretty import StyledLines
from codex_adapter.protocols.mailbox.happenings import Happening

__all__ = ["LiveMailbox"]


class LiveMailbox:
    """Renders to bytes; `fd` is the terminal, asked for nothing but its size."""

    refresh_seconds: float | None = 0.25

    def __init__(self, fd: int, words: Words) -> None:
        self._fd = fd
        self._words = words
        self._lines = StyledLines(fd, unbroken=True)
        self._spinner = Spinner("dots")
        self._since = 0.0
        self._paper = io.StringIO()
        self._console = Console(
            file=self._paper, force_terminal=True, force_interactive=True, markup=False, emoji=False, highlight=False
        )
        self._live = Live(
            get_renderable=self._now,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def happening(self, happening: Happening) -> bytes:
        """As `MailboxView.happening`."""
        before, erased = self._words.waiting_for, self._erased()
        lines = self._words.tell(happening)
        if self._words.waiting_for != before:
            self._since = time.monotonic()
        return erased + self._lines(lines) + self.refresh()

    def refresh(self) -> bytes:
        """The live line anew."""
        if self._words.waiting_for is None:
            return b""
        with suppress(OSError):
            self._console.size = os.get_terminal_size(self._fd)
        if not self._live.is_started:
            self._live.start()
            # Nobody would show it again if we were killed.
            self._console.show_cursor(True)
        self._live.refresh()
        return self._take()

    def end(self) -> bytes:
        """Without the live line, for good."""
        erased = self._erased()
        self._words.waiting_for = None
        return erased

    def _erased(self) -> bytes:
        self._live.stop()
        return self._take()

    def _now(self) -> RenderableType:
        seconds = time.monotonic() - self._since
        sign = self._spinner.render(seconds)
        text = Text(no_wrap=True, overflow="ellipsis", style="cyan")
        return text.append(f"{sign} ").append(f"waiting for {self._words.waiting_for} ({seconds:.0f} s)")

    def _take(self) -> bytes:
        text = self._paper.getvalue()
        self._paper.seek(0)
        self._paper.truncate()
        return text.encode()
