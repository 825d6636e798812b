"""Find the blocks of an answer, and the closing tags that close none (I1, I4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from codex_adapter.protocols.mailbox.tags import BODIES, TagLine, tag_lines

__all__ = ["Block", "LooseClosing", "Scan"]


class Block(NamedTuple):
    """An opening tag with its body and closing tag."""

    name: str
    first: int
    """Its first line, from 1."""
    last: int
    """Its last line."""
    tag: str
    body: str
    """The text between its tags; empty if a tag is missing."""
    closed: bool
    again: int
    """The first line of the body with an opening tag of the same command, or 0."""
    loose: Mapping[str, int]
    """Closing tags of other commands in the body that close nothing there: for each command the line of the first."""


class LooseClosing(NamedTuple):
    """A closing tag outside every block."""

    name: str
    line: int


class Scan:
    """Scan the text of an answer once, in linear time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = self._looked_at(tag_lines(text))
        self.mentions: dict[str, int] = {}
        """The first line with an opening tag of each command, anywhere on it; complete after all parts are read."""

    def parts(self) -> Iterator[Block | LooseClosing]:
        """Yield the blocks and the loose closing tags in order."""
        for line in self._lines:
            if line.opens:
                yield self._block(line)
            elif line.closes:
                yield LooseClosing(line.closes, line.number)

    def _looked_at(self, lines: Iterable[TagLine]) -> Iterator[TagLine]:
        for line in lines:
            for name in line.mentions:
                self.mentions.setdefault(name, line.number)
            yield line

    def _block(self, opening: TagLine) -> Block:
        name, first = opening.opens, opening.number
        if name not in BODIES or opening.ends_with_closing(name):
            return Block(name, first, first, opening.tag, "", closed=True, again=0, loose={})
        again, depth = 0, 1
        others = _Others()
        for line in self._lines:
            if line.closes == name:
                depth -= 1
                if not depth:
                    body = self._text[opening.end + 1 : line.start]
                    return Block(name, first, line.number, opening.tag, body, True, again, others.loose)
            elif line.opens == name:
                again = again or line.number
                depth += not line.ends_with_closing(name)
            others.look_at(line, name)
        return Block(name, first, self._last_line(), opening.tag, "", False, again, others.loose)

    def _last_line(self) -> int:
        return self._text.count("\n") + (not self._text.endswith("\n"))


class _Others:
    """The tags of other commands within a block: finds closing tags without an opening tag before them there."""

    def __init__(self) -> None:
        self.loose: dict[str, int] = {}
        self._open: Counter[str] = Counter()

    def look_at(self, line: TagLine, name: str) -> None:
        """Take the next line of a block of the command `name`."""
        if not line.closes:
            for other in line.mentions:
                self._open[other] += other != name and not line.ends_with_closing(other)
        elif self._open[line.closes]:
            self._open[line.closes] -= 1
        elif line.closes != name:
            self.loose.setdefault(line.closes, line.number)
