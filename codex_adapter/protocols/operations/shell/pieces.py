"""Assemble a word from literal text, expansions and patterns."""

from __future__ import annotations

import re

from codex_adapter.protocols.operations.shell.text import Word

__all__ = ["Pieces"]

UNKNOWN = "\0"
"""The sign of an unknown part. A shell text cannot have it."""


class Pieces:
    """The parts of one word. Unquoted text may be a pattern, and quoted text is literal."""

    def __init__(self) -> None:
        self.literal: list[str] = []
        self.bare: list[str] = []
        self.splits = False

    def quote(self, text: str) -> None:
        """Add literal text."""
        self.literal.extend(text)
        self.bare.extend("x" * len(text))

    def write(self, character: str) -> None:
        """Add an unquoted character."""
        self.literal.append(character)
        self.bare.append(character)

    def expand(self, *, splits: bool) -> None:
        """Add a part that is unknown before the run."""
        self.literal.append(UNKNOWN)
        self.bare.append("x")
        self.splits = self.splits or splits

    def word(self, raw: str = "") -> Word:
        """Return the word."""
        bare = "".join(self.bare)
        patterns = [place for place, character in enumerate(bare) if character in "*?"]
        brackets = range(bare.find("["), bare.rfind("]") + 1) if "[" in bare else range(0)
        for place in (*patterns, *brackets):
            self.literal[place] = UNKNOWN
        first, last = bare.find("{"), bare.rfind("}")
        inside = bare[first:last] if first >= 0 else ""
        if "," in inside or ".." in inside:  # braces are literal in dash, and several words in other shells
            self._make_unknown(first, last)
            self.splits = True
        if bare.startswith("~"):
            self._make_unknown(0, len(bare.partition("/")[0]) - 1)
        parts = [None if part == UNKNOWN else part for part in re.split(f"({UNKNOWN})+", "".join(self.literal)) if part]
        return Word(tuple(parts), self.splits, globs=bool(patterns or brackets), raw=raw)

    def _make_unknown(self, first: int, last: int) -> None:
        """Replace the text between two places, if any, by an unknown part."""
        if 0 <= first <= last:
            self.literal[first : last + 1] = [UNKNOWN] * (last + 1 - first)
