"""Collect what a command runs, sets and writes besides what its own name says."""

from __future__ import annotations

from dataclasses import dataclass, field

from codex_adapter.protocols.operations.shell.text import UnclearError, Word

__all__ = ["Runs"]


@dataclass
class Runs:
    """The texts and files that a command runs, sets and writes besides what its own name says."""

    commands: list[tuple[Word, ...]] = field(default_factory=list)
    counts: list[tuple[Word, ...]] = field(default_factory=list)
    """Commands with the same effect, for the rules that hold commands back."""
    texts: list[str] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    directories: list[Word] = field(default_factory=list)
    """The directories in which it runs its commands, other than its own."""

    def text(self, word: Word) -> None:
        """Add a text for the shell. Raise UnclearError if it is not known."""
        if word.text is None:
            raise UnclearError("the text that it runs is not known before")
        self.texts.append(word.text)
