"""Find the blocks of an answer, and the closing tags that close no block (I1, I4)."""

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
    """Closing tags of other commands that close nothing in the body: for each command, the line of the first tag."""


class LooseClosing(NamedTuple):
    """A closing tag outside every block."""

    name: str
    line: int


class Scan:
    """Scan the text of an answer once, in linear time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = self._note_mentions(tag_lines(text))
        self.mentions: dict[str, int] = {}
        """For each command, the first line with its opening tag at any place; complete after all parts are read."""

    def parts(self) -> Iterator[Block | LooseClosing]:
        """Yield the blocks and the loose closing tags in order."""
        for line in self._lines:
            if line.opens:
                yield self._read_block(line)
            elif line.closes:
                yield LooseClosing(line.closes, line.number)

    def _note_mentions(self, lines: Iterable[TagLine]) -> Iterator[TagLine]:
        for line in lines:
            for name in line.mentions:
                self.mentions.setdefault(name, line.number)
            yield line

    def _read_block(self, opening: TagLine) -> Block:
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
    """The tags of other commands within a block; `loose` has the closing tags without an opening tag in the block."""

    def __init__(self) -> None:
        self.loose: dict[str, int] = {}
        self._open: Counter[str] = Counter()

    def look_at(self, line: TagLine, name: str) -> None:
        """Note the tags of the next line of a block of the command `name`."""
        if not line.closes:
            for other in line.mentions:
                self._open[other] += other != name and not line.ends_with_closing(other)
        elif self._open[line.closes]:
            self._open[line.closes] -= 1
        elif line.closes != name:
            self.loose.setdefault(line.closes, line.number)
