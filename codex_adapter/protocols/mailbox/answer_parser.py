"""Parse an answer into commands and errors (I1 to I5)."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from itertools import accumulate, islice, takewhile
from typing import Final, TypeAlias

from codex_adapter.protocols.mailbox.ambiguity import AmbiguousLines, Part, find_ambiguous_lines
from codex_adapter.protocols.mailbox.blocks import Block, LooseClosing, Scan
from codex_adapter.protocols.mailbox.bodies import unescaped, without_fence
from codex_adapter.protocols.mailbox.instructions import INSTRUCTIONS
from codex_adapter.protocols.mailbox.messages import (
    ANSWER,
    MOST_ANSWER_BYTES,
    MOST_COMMANDS,
    AnswerItem,
    CreateFile,
    DeleteFile,
    Done,
    EditFile,
    Malformed,
    ReadFile,
    RunCommand,
    ShowMessage,
)
from codex_adapter.protocols.mailbox.tags import WHITE_SPACE, MalformedError, closing_tag, read_attributes

__all__ = ["ends_within_block", "parse_answer"]

_Found: TypeAlias = Block | LooseClosing
_ENCODINGS: Final = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_SIGNS: Final = re.compile(r"[\W_]+")
_PROTOCOL: Final = _SIGNS.sub("", INSTRUCTIONS).casefold()
_OUTBOX: Final = (f"protocol{_PROTOCOL}", f"{_PROTOCOL}context")
"""The section in lower-case letters and digits, with the heading before or after it."""
_WORD: Final = "start_line"
"""A word of the section; an answer without it needs no closer look."""
_NOTHING: Final = "no command was found; each begins with its tag, in capitals, on a line of its own"


class _RefusedError(ValueError):
    """Nothing of the answer is executed; the text says why."""

    def __init__(self, why: str, line: int = 1) -> None:
        super().__init__(why)
        self.line: Final = line


def parse_answer(data: bytes) -> tuple[AnswerItem, ...]:
    """Return the commands and errors of an answer in order, at least one, in linear time (I1 to I5)."""
    try:
        scan = Scan(_without_outbox(_text(data)))
        found = _bounded(scan.parts())
    except _RefusedError as refused:
        return (_malformed(ANSWER, refused.line, str(refused)),)
    parts = [Part(part, _asked(part)) for part in found]
    in_doubt = find_ambiguous_lines(parts, scan.mentions)
    asked = [
        part.asked for part in parts if not any(doubt.first <= part.asked.line <= doubt.last for doubt in in_doubt)
    ]
    asked += map(_doubted, in_doubt)
    return tuple(sorted(asked, key=lambda it: it.line)) or (_malformed(ANSWER, 1, _NOTHING),)


def ends_within_block(data: bytes) -> bool:
    """Return whether the text ends within a block or a character, so that more may arrive (I13)."""
    try:
        return any(isinstance(part, Block) and not part.closed for part in Scan(_text(data)).parts())
    except _RefusedError:
        return len(data) <= MOST_ANSWER_BYTES


def _text(data: bytes) -> str:
    """Decode the answer, with LF at the end of lines. Raises `_RefusedError`."""
    if len(data) > MOST_ANSWER_BYTES:
        raise _RefusedError(f"the answer has more than {MOST_ANSWER_BYTES} bytes; send it in several answers")
    mark = next((mark for mark in _ENCODINGS if data.startswith(mark)), b"")
    encoding = _ENCODINGS.get(mark, "utf-8")
    content = data[len(mark) :]
    try:
        return content.decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].decode(encoding, "ignore").count("\n") + 1
        why = "the answer is no text in UTF-8, nor in UTF-16 with a byte order mark; save it as UTF-8 and send it again"
        raise _RefusedError(why, line) from None


def _without_outbox(text: str) -> str:
    """Return the text. Raises `_RefusedError` if the outbox was saved with it: its examples would be commands."""
    if _WORD not in text:
        return text
    letters = _SIGNS.sub("", text).casefold()
    place = min((place for place in map(letters.find, _OUTBOX) if place >= 0), default=-1)
    if place < 0:
        return text
    letters_to = accumulate(len(_SIGNS.sub("", line).casefold()) for line in text.split("\n"))
    line = 1 + sum(1 for _ in takewhile(lambda letters_so_far: letters_so_far <= place, letters_to))
    why = "the answer has the text of an outbox in it, whose examples are no commands; save what the model said alone"
    raise _RefusedError(why, line)


def _bounded(parts: Iterable[_Found]) -> list[_Found]:
    """Return all parts. Raises `_RefusedError` as soon as there are too many."""
    found = list(islice(parts, MOST_COMMANDS + 1))
    if len(found) > MOST_COMMANDS:
        raise _RefusedError(f"the answer has more than {MOST_COMMANDS} commands; send fewer at once")
    return found


def _asked(part: _Found) -> AnswerItem:
    if isinstance(part, LooseClosing):
        why = f"{closing_tag(part.name)} closes nothing; put [{part.name}] on a line of its own before it"
        return _malformed(part.name, part.line, why)
    try:
        return _command(part)
    except MalformedError as error:
        lost = f". Nothing in lines {part.first} to {part.last} was carried out" if part.last > part.first else ""
        return _malformed(part.name, part.first, f"{error}{lost}")


def _command(block: Block) -> AnswerItem:
    given = read_attributes(block.name, block.tag)
    _check_extent(block)
    line, path = block.first, given.get("path", "")
    if block.name == ReadFile.name:
        return ReadFile(line=line, path=path)
    if block.name == DeleteFile.name:
        return DeleteFile(line=line, path=path)
    content = unescaped(block.name, block.body)
    if block.name == CreateFile.name:
        return CreateFile(line=line, path=path, content=content)
    if block.name == EditFile.name:
        start, end = int(given["start_line"]), int(given["end_line"])
        return EditFile(line=line, path=path, start_line=start, end_line=end, content=content)
    if block.name == RunCommand.name:
        return RunCommand(line=line, command=_not_blank(without_fence(content)))
    if block.name == ShowMessage.name:
        return ShowMessage(line=line, text=_not_blank(content))
    return Done(line=line, text=content.rstrip("\n"))


def _check_extent(block: Block) -> None:
    tag = closing_tag(block.name)
    if block.again:
        again = f"line {block.again} has another [{block.name}] before {tag}"
        raise MalformedError(f"{again}; close each block, or put a backslash before such a tag in a body")
    if not block.closed:
        raise MalformedError(f"the closing tag is missing; put {tag} on a line of its own behind the body")


def _not_blank(text: str) -> str:
    if not text.strip(WHITE_SPACE):
        raise MalformedError("the body is empty; put the text on lines between the tags")
    return text.rstrip("\n")


def _doubted(doubt: AmbiguousLines) -> Malformed:
    tag = closing_tag(doubt.name)
    why = (
        f"{tag} in line {doubt.closing} closes nothing, so that it is not clear what belongs to which block. "
        f"Nothing in lines {doubt.first} to {doubt.last} was carried out; put each tag on a line of its own with "
        f"nothing else on it, and a backslash before [{doubt.name}] and {tag} where they are lines of a body of theirs"
    )
    return _malformed(doubt.name, doubt.first, why)


def _malformed(name: str, line: int, why: str) -> Malformed:
    return Malformed(name=name, line=line, error=f"line {line}: {why}")
