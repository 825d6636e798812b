"""The forms in which a mailbox is shown: happenings for a program, text for a person (C12)."""

from __future__ import annotations

from typing import Protocol

from codex_adapter.cli.mailbox.narration import Words
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.plain import plain_text
from codex_adapter.cli.present.views import can_show_colours, is_for_a_program
from codex_adapter.protocols.mailbox.events import MailboxEvent
from codex_adapter.records import encode_lines

__all__ = ["MailboxView", "choose_mailbox_view"]


class MailboxView(Protocol):
    """Turns what happens into bytes; it does no I/O."""

    @property
    def refresh_seconds(self) -> float | None:
        """How often `refresh` is to be called; None for never."""

    def happening(self, happening: MailboxEvent) -> bytes:
        """What to write for it."""

    def refresh(self) -> bytes:
        """What to write while nothing happens."""

    def end(self) -> bytes:
        """What to write at the end."""


class _JsonLines:
    """One happening a line."""

    refresh_seconds: float | None = None

    def happening(self, happening: MailboxEvent) -> bytes:
        """As `MailboxView.happening`."""
        return encode_lines((happening,))

    def refresh(self) -> bytes:
        """Nothing."""
        return b""

    end = refresh


class _PlainText:
    """Lines without any escape code."""

    refresh_seconds: float | None = None

    def __init__(self, words: Words) -> None:
        self._words = words

    def happening(self, happening: MailboxEvent) -> bytes:
        """As `MailboxView.happening`."""
        return plain_text(self._words.tell(happening))

    def refresh(self) -> bytes:
        """Nothing."""
        return b""

    end = refresh


def choose_mailbox_view(form: str | None, output: Output, words: Words) -> MailboxView:
    """Happenings, or text: the live one where the terminal can show it and rich is installed (C7)."""
    if is_for_a_program(form, output):
        return _JsonLines()
    if can_show_colours(output):
        try:
            from codex_adapter.cli.mailbox.live import LiveMailbox  # noqa: PLC0415 - rich is optional, and slow to load
        except ImportError:
            pass
        else:
            return LiveMailbox(output.fd, words)
    return _PlainText(words)
