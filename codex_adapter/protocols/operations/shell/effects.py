"""Collect the other commands that a command runs, and the variables and files that it sets and writes (A3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from codex_adapter.protocols.operations.shell.text import UnclearError, Word

__all__ = ["Effects"]


@dataclass
class Effects:
    """The commands and texts that a command runs, and the variables and files that it sets and writes."""

    commands: list[tuple[Word, ...]] = field(default_factory=list)
    counts: list[tuple[Word, ...]] = field(default_factory=list)
    """Commands with the same effect, for the rules that deny or delay commands."""
    texts: list[str] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    directories: list[Word] = field(default_factory=list)
    """The directories in which it runs its commands, if they differ from its own."""

    def text(self, word: Word) -> None:
        """Add a text for the shell. Raises UnclearError if the text is unknown."""
        if word.text is None:
            raise UnclearError("the text that it runs is unknown before it runs")
        self.texts.append(word.text)
