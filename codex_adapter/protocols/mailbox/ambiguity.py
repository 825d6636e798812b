"""Find ambiguous lines of an answer: those around a closing tag that closes no block (I4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from codex_adapter.protocols.mailbox.blocks import Block, LooseClosing
from codex_adapter.protocols.mailbox.messages import AnswerItem, Malformed

__all__ = ["AmbiguousLines", "Part", "find_ambiguous_lines"]


class Part(NamedTuple):
    """A part of an answer, and the item that it would be if no line was ambiguous."""

    found: Block | LooseClosing
    item: AnswerItem


class AmbiguousLines(NamedTuple):
    """Lines that are not executed. Each block is completely inside or completely outside of them."""

    first: int
    last: int
    name: str
    closing: int
    """The line of the closing tag of `name` that closes no block."""


class _Closing(NamedTuple):
    name: str
    line: int
    last: int
    """The last line of the block that contains the tag."""


def find_ambiguous_lines(parts: Sequence[Part], mentions: Mapping[str, int]) -> list[AmbiguousLines]:
    """Return the ambiguous lines in order, without overlap. `mentions` are those of the whole scan."""
    begins = {name: _first_line_of_block(parts, line) for name, line in mentions.items()}
    found: list[AmbiguousLines] = []
    spans = (
        AmbiguousLines(begins[closing.name], closing.last, closing.name, closing.line)
        for part in parts
        for closing in _find_loose_closings(part, mentions)
    )
    for span in sorted(spans):
        if found and span.first <= found[-1].last:
            found[-1] = _merge(found[-1], span)
        else:
            found.append(span)
    return found


def _find_loose_closings(part: Part, mentions: Mapping[str, int]) -> Iterator[_Closing]:
    """Yield the closing tags of a part that close no block, if an opening tag of theirs is before the part."""
    found = part.found
    if isinstance(found, LooseClosing):
        loose: Mapping[str, int] = {found.name: found.line}
        first = last = found.line
    elif isinstance(part.item, Malformed):
        loose, first, last = found.loose, found.first, found.last
    else:
        return
    for name, line in loose.items():
        if mentions.get(name, first) < first:
            yield _Closing(name, line, last)


def _first_line_of_block(parts: Sequence[Part], line: int) -> int:
    """Return the first line of the block that contains a line, or the line itself outside of blocks."""
    blocks = (part.found for part in parts if isinstance(part.found, Block))
    return next((block.first for block in blocks if block.first <= line <= block.last), line)


def _merge(one: AmbiguousLines, other: AmbiguousLines) -> AmbiguousLines:
    reason = min(one, other, key=lambda lines: lines.closing)
    return reason._replace(first=one.first, last=max(one.last, other.last))
