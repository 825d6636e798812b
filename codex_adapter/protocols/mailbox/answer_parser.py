"""Parse an answer into commands and errors (I1 to I5)."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from itertools import accumulate, islice, takewhile
from typing import Final, TypeAlias

from codex_adapter.protocols.mailbox.ambiguity import AmbiguousLines, Part, find_ambiguous_lines
from codex_adapter.protocols.mailbox.blocks import Block, LooseClosing, Scan
from codex_adapter.protocols.mailbox.bodies import remove_fence, unescape_tags
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
"""The section `PROTOCOL` in lower-case letters and digits, with the heading before or after it."""
_WORD: Final = "start_line"
"""A word of the section. An answer without it cannot have the section."""
_NOTHING: Final = "the answer has no command. Begin each command with its tag, in capitals, on a line of its own"


class _RefusedError(ValueError):
    """The whole answer is refused; the text gives the reason."""

    def __init__(self, why: str, line: int = 1) -> None:
        super().__init__(why)
        self.line: Final = line


def parse_answer(data: bytes) -> tuple[AnswerItem, ...]:
    """Return the commands and errors of an answer in order, at least one, in linear time (I1 to I5)."""
    try:
        scan = Scan(_refuse_outbox(_decode(data)))
        found = _read_parts(scan.parts())
    except _RefusedError as refused:
        return (_malformed(ANSWER, refused.line, str(refused)),)
    parts = [Part(part, _read_item(part)) for part in found]
    ambiguous = find_ambiguous_lines(parts, scan.mentions)
    items = [part.item for part in parts if not any(lines.first <= part.item.line <= lines.last for lines in ambiguous)]
    items += map(_ambiguity_error, ambiguous)
    return tuple(sorted(items, key=lambda item: item.line)) or (_malformed(ANSWER, 1, _NOTHING),)


def ends_within_block(data: bytes) -> bool:
    """Return whether the text ends within a block or a character, so that more may arrive (I13)."""
    try:
        return any(isinstance(part, Block) and not part.closed for part in Scan(_decode(data)).parts())
    except _RefusedError:
        return len(data) <= MOST_ANSWER_BYTES


def _decode(data: bytes) -> str:
    """Decode the answer, with LF at the end of lines. Raises `_RefusedError`."""
    if len(data) > MOST_ANSWER_BYTES:
        raise _RefusedError(f"the answer has more than {MOST_ANSWER_BYTES} bytes. Send it in several answers")
    mark = next((mark for mark in _ENCODINGS if data.startswith(mark)), b"")
    encoding = _ENCODINGS.get(mark, "utf-8")
    content = data[len(mark) :]
    try:
        return content.decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].decode(encoding, "ignore").count("\n") + 1
        why = "the answer is not text in UTF-8, or in UTF-16 with a byte order mark. Save it as UTF-8 and send it again"
        raise _RefusedError(why, line) from None


def _refuse_outbox(text: str) -> str:
    """Return the text. Raises `_RefusedError` if it contains an outbox, whose examples would be commands."""
    if _WORD not in text:
        return text
    letters = _SIGNS.sub("", text).casefold()
    place = min((place for place in map(letters.find, _OUTBOX) if place >= 0), default=-1)
    if place < 0:
        return text
    letter_counts = accumulate(len(_SIGNS.sub("", line).casefold()) for line in text.split("\n"))
    line = 1 + sum(1 for _ in takewhile(lambda letters: letters <= place, letter_counts))
    why = "the answer contains the text of an outbox, whose examples are not commands. Save only the text of the model"
    raise _RefusedError(why, line)


def _read_parts(parts: Iterable[_Found]) -> list[_Found]:
    """Return all parts. Raises `_RefusedError` at the first part over the limit."""
    found = list(islice(parts, MOST_COMMANDS + 1))
    if len(found) > MOST_COMMANDS:
        raise _RefusedError(f"the answer has more than {MOST_COMMANDS} commands. Send fewer at once")
    return found


def _read_item(part: _Found) -> AnswerItem:
    if isinstance(part, LooseClosing):
        why = f"{closing_tag(part.name)} closes no block. Put [{part.name}] on a line of its own before it"
        return _malformed(part.name, part.line, why)
    try:
        return _read_command(part)
    except MalformedError as error:
        lost = f". Lines {part.first} to {part.last} were not executed" if part.last > part.first else ""
        return _malformed(part.name, part.first, f"{error}{lost}")


def _read_command(block: Block) -> AnswerItem:
    attributes = read_attributes(block.name, block.tag)
    _check_extent(block)
    line, path = block.first, attributes.get("path", "")
    if block.name == ReadFile.name:
        return ReadFile(line=line, path=path)
    if block.name == DeleteFile.name:
        return DeleteFile(line=line, path=path)
    content = unescape_tags(block.name, block.body)
    if block.name == CreateFile.name:
        return CreateFile(line=line, path=path, content=content)
    if block.name == EditFile.name:
        start, end = int(attributes["start_line"]), int(attributes["end_line"])
        return EditFile(line=line, path=path, start_line=start, end_line=end, content=content)
    if block.name == RunCommand.name:
        return RunCommand(line=line, command=_require_text(remove_fence(content)))
    if block.name == ShowMessage.name:
        return ShowMessage(line=line, text=_require_text(content))
    return Done(line=line, text=content.rstrip("\n"))


def _check_extent(block: Block) -> None:
    tag = closing_tag(block.name)
    if block.again:
        again = f"line {block.again} has another [{block.name}] before {tag}"
        raise MalformedError(f"{again}. Close each block, or put a backslash before this tag in a body")
    if not block.closed:
        raise MalformedError(f"the closing tag is missing. Put {tag} on a line of its own after the body")


def _require_text(text: str) -> str:
    if not text.strip(WHITE_SPACE):
        raise MalformedError("the body is empty. Put the text on lines between the tags")
    return text.rstrip("\n")


def _ambiguity_error(lines: AmbiguousLines) -> Malformed:
    tag = closing_tag(lines.name)
    why = (
        f"{tag} in line {lines.closing} closes no block, so the ends of the blocks are ambiguous. "
        f"Lines {lines.first} to {lines.last} were not executed. Put each tag alone on a line of its own, "
        f"and a backslash before [{lines.name}] and {tag} if they are lines of a body"
    )
    return _malformed(lines.name, lines.first, why)


def _malformed(name: str, line: int, why: str) -> Malformed:
    return Malformed(name=name, line=line, error=f"line {line}: {why}")
