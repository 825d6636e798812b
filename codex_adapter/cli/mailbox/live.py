"""A mailbox on a terminal: what has happened scrolls by, and below it stands what is waited for (C12)."""

from __future__ import annotations

import time

from rich.console import RenderableType
from rich.spinner import Spinner
from rich.text import Text

from codex_adapter.cli.mailbox.narration import Words
from codex_adapter.cli.present.live_terminal import LivePaper
from codex_adapter.cli.present.pretty import StyledLines
from codex_adapter.protocols.mailbox.events import MailboxEvent

__all__ = ["LiveMailbox"]


class LiveMailbox:
    """Renders to bytes; `fd` is the terminal, asked for nothing but its size."""

    refresh_seconds: float | None = 0.25

    def __init__(self, fd: int, words: Words) -> None:
        self._words = words
        self._lines = StyledLines(fd, unbroken=True)
        self._spinner = Spinner("dots")
        self._since = 0.0
        self._paper = LivePaper(fd, self._now)

    def happening(self, happening: MailboxEvent) -> bytes:
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
        return self._paper.refresh()

    def end(self) -> bytes:
        """Without the live line, for good."""
        erased = self._erased()
        self._words.waiting_for = None
        return erased

    def _erased(self) -> bytes:
        self._paper.stop()
        return self._paper.take()

    def _now(self) -> RenderableType:
        seconds = time.monotonic() - self._since
        sign = self._spinner.render(seconds)
        text = Text(no_wrap=True, overflow="ellipsis", style="cyan")
        return text.append(f"{sign} ").append(f"waiting for {self._words.waiting_for} ({seconds:.0f} s)")
