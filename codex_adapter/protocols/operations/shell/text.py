"""Define the parts of a shell text: words after quote removal, commands, redirections, and doubts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["HereDocument", "Redirection", "Script", "SimpleCommand", "UnclearError", "Word", "known", "names"]


class UnclearError(Exception):
    """The meaning of a text is not certain. The message has the reason and does not quote the text."""


class Word(NamedTuple):
    """One word. A part that is None is unknown: the shell expands it in the run."""

    parts: tuple[str | None, ...]
    splits: bool = False
    """In the run, the word may become any number of words with any text."""
    globs: bool = False
    """In the run, the word may become several names of files, each of this form."""
    raw: str = ""
    """The word as it was written: only an unquoted word can be a keyword or an assignment."""

    @property
    def text(self) -> str | None:
        """The word, if it is known before the run."""
        return None if self.splits or None in self.parts else "".join(part for part in self.parts if part)

    @property
    def stays_one(self) -> bool:
        """Whether it certainly is one word in the run."""
        return not (self.splits or self.globs)

    @property
    def prefix(self) -> str:
        """The known text at the beginning of the word."""
        return self.parts[0] or "" if self.parts else ""

    @property
    def program(self) -> str | None:
        """The name of the program, the part after the last slash; None if it is unknown."""
        if not self.stays_one or not self.parts:
            return None
        last = self.parts[-1]
        if last is None or (len(self.parts) > 1 and "/" not in last):
            return None
        return last.rpartition("/")[2] or last

    def may_be(self, wanted: str) -> bool:
        """Return whether the word may become `wanted` in the run."""
        shape = "".join(".*" if part is None else re.escape(part) for part in self.parts)
        return self.splits or re.fullmatch(shape, wanted, re.DOTALL) is not None

    @property
    def may_be_an_option(self) -> bool:
        """Whether it begins with a hyphen, or may do so in the run."""
        return self.splits or self.prefix.startswith("-") or (self.parts[:1] == (None,) or self.parts[:2] == ("", None))


@dataclass
class HereDocument:
    """A here-document. Its text is after the line, so `body` is set later."""

    delimiter: str
    quoted: bool
    strips_tabs: bool
    body: Word | None = None


class Redirection(NamedTuple):
    """A redirection to or from a file, or from a here-document."""

    operator: str
    target: Word
    descriptor: int
    document: HereDocument | None = None

    @property
    def writes(self) -> bool:
        """Whether the file is written."""
        return ">" in self.operator

    @property
    def names_a_file(self) -> bool:
        """Whether the target is a file, not a descriptor or the delimiter of a here-document."""
        if self.document is not None:
            return False
        duplicates = self.operator.endswith("&") and self.target.text is not None
        return not (duplicates and re.fullmatch(r"\d+-?|-", self.target.text or ""))


class SimpleCommand(NamedTuple):
    """A command without control flow: assignments, words, redirections."""

    assigned: tuple[str, ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]


@dataclass
class Script:
    """The commands of a text, with facts for shells that evaluate subscripts in a value."""

    commands: list[SimpleCommand] = field(default_factory=list)
    evaluates: bool = False
    """Whether a value that is unknown before the run is evaluated, as in `$((x))`."""
    has_subscript: bool = False
    """Whether a value that is set may have a subscript, as in `x='a[$(rm b)]'`."""
    values: list[str] = field(default_factory=list)
    """The known parts of the values that are set."""
    doubts: list[str] = field(default_factory=list)
    """Reasons why the text may do more in a shell other than dash."""

    def note_value(self, text: str) -> None:
        """Examine a value that is set, or a part of it."""
        self.values.append(text)
        self.has_subscript = self.has_subscript or any(sign in text for sign in ("[", "$(", "`"))


def known(text: str) -> Word:
    """Return a word of known text."""
    return Word((text,), raw=text)


def names(text: str) -> frozenset[str]:
    """Return the names in a text with spaces between them."""
    return frozenset(text.split())
