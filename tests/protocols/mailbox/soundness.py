"""Check the properties of any parse of an answer: nothing is invented, split or skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from codex_adapter.protocols.mailbox.messages import ANSWER, AnswerItem, Malformed

from .answers_text import NAMES, block
from .reference_lines import closes, decoded, opens, split

__all__ = ["unsound"]

_EXTENT = re.compile(r"Lines ([0-9]+) to ([0-9]+) were not executed")
_SAID = re.compile(r"line ([0-9]+): \S.*", re.DOTALL)


def unsound(data: bytes, asked: Sequence[AnswerItem]) -> str:
    """What is wrong with a reading, or nothing."""
    return next(_findings(data, asked), "")


def _findings(data: bytes, asked: Sequence[AnswerItem]) -> Iterator[str]:
    if not asked:
        yield "nothing was said"
    for it in asked:
        if isinstance(it, Malformed) and ((said := _SAID.fullmatch(it.error)) is None or int(said[1]) != it.line):
            yield f"the text of the error in line {it.line} does not begin with its line"
    if any(it.name == ANSWER for it in asked):
        if len(asked) > 1:
            yield "something was carried out of an answer that was refused as a whole"
        return
    lines = split(decoded(data))
    covered: set[int] = set()
    for it in asked:
        extent = _extent(it, lines)
        if extent is None:
            yield f"line {it.line} is no whole block of {it.name}"
            return
        if covered & set(extent):
            yield f"what begins in line {it.line} stands within something else"
        covered |= set(extent)
    for number, line in enumerate(lines, 1):
        bodies = [name for name in NAMES if name not in ("DELETE_FILE", "READ_FILE")]
        if number not in covered and (
            any(opens(line, name) for name in NAMES) or any(closes(line, name) for name in bodies)
        ):
            yield f"the tag in line {number} was passed over"


def _extent(it: AnswerItem, lines: Sequence[str]) -> range | None:
    """The lines of something; None where they are not the block that it says."""
    if isinstance(it, Malformed):
        told = _EXTENT.search(it.error)
        return range(int(told[1]), int(told[2]) + 1) if told else range(it.line, it.line + 1)
    if not opens(lines[it.line - 1], it.name):
        return None
    if it.name in ("DELETE_FILE", "READ_FILE"):
        return range(it.line, it.line + 1)
    last = next((number for number in range(it.line, len(lines)) if closes(lines[number], it.name)), None)
    if last is None:
        return None
    body = lines[it.line : last]
    if any(opens(line, it.name) for line in body) or not _is_written_as(it, body):
        return None
    return range(it.line, last + 2)


def _is_written_as(it: AnswerItem, body: Sequence[str]) -> bool:
    """Whether the lines are those that the command is written as; a fence and empty lines round it may be there."""
    written = block(it).split("\n")[1:-2]
    if it.name in ("CREATE_FILE", "EDIT_FILE"):
        return list(body) == written
    places = range(len(body) - len(written) + 1)
    return any(list(body[at : at + len(written)]) == written for at in places)
