"""Parse answers by the rules in the slowest and simplest way, as a reference for the real parser.

It is written from the rules alone. It scans lines and characters repeatedly and uses no regular expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from codex_adapter.protocols.mailbox.messages import (
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

from .reference_lines import closes, decoded, ends_with_closing, has_opening, is_white, opens, opens_at, split, trimmed

__all__ = ["reference"]

HAS = {
    "CREATE_FILE": {"path"},
    "EDIT_FILE": {"path", "start_line", "end_line"},
    "DELETE_FILE": {"path"},
    "READ_FILE": {"path"},
    "RUN_COMMAND": set[str](),
    "MESSAGE": set[str](),
    "DONE": set[str](),
}
WITH_BODY = ("CREATE_FILE", "EDIT_FILE", "RUN_COMMAND", "MESSAGE", "DONE")


class Piece(NamedTuple):
    """A block, or a closing tag outside of them (no `asked`), by the numbers of its lines from 0."""

    name: str
    first: int
    last: int
    asked: AnswerItem | None


class Wrong(Exception):
    """The block is malformed."""


def reference(data: bytes) -> list[AnswerItem]:
    """What an answer asks for; errors without texts."""
    if len(data) > 16 * 1024 * 1024:
        return [malformed("ANSWER", 0)]
    try:
        text = decoded(data)
    except UnicodeDecodeError as error:
        return [malformed("ANSWER", str(error.object[: error.start], error.encoding, "ignore").count("\n"))]
    lines = split(text)
    pieces = list(found(lines))
    if len(pieces) > 1000:
        return [malformed("ANSWER", 0)]
    doubtful = in_doubt(lines, pieces)
    asked: list[AnswerItem] = [
        piece.asked or malformed(piece.name, piece.first)
        for piece in pieces
        if not any(piece.first in span for span, _ in doubtful)
    ]
    asked += [malformed(name, min(span)) for span, (_, name) in doubtful]
    asked.sort(key=lambda it: it.line)
    return asked or [malformed("ANSWER", 0)]


def malformed(name: str, index: int) -> Malformed:
    return Malformed(name=name, line=index + 1, error="")


def found(lines: Sequence[str]) -> Iterator[Piece]:
    index = 0
    while index < len(lines):
        name = next((name for name in HAS if opens(lines[index], name)), None)
        if name is not None:
            last = end_of(lines, index, name)
            yield Piece(name, index, min(last, len(lines) - 1), read(lines, index, last, name))
            index = last
        else:
            yield from (Piece(name, index, index, None) for name in WITH_BODY if closes(lines[index], name))
        index += 1


def end_of(lines: Sequence[str], first: int, name: str) -> int:
    """The index of the last line; one behind all of them where the block is not closed."""
    if name not in WITH_BODY or ends_with_closing(lines[first], name):
        return first
    for last in range(first + 1, len(lines)):
        within = lines[first : last + 1]
        opened = sum(opens(line, name) and not ends_with_closing(line, name) for line in within)
        if closes(lines[last], name) and opened == sum(closes(line, name) for line in within):
            return last
    return len(lines)


def read(lines: Sequence[str], first: int, last: int, name: str) -> AnswerItem:
    body = list(lines[first + 1 : last])
    try:
        given = attributes(trimmed(lines[first])[1 + len(name) :], HAS[name])
        check(last < len(lines) and not any(opens(line, name) for line in body))
        return command(name, first + 1, given, [one_backslash_less(line, name) for line in body])
    except Wrong:
        return malformed(name, first)


def check(right: bool) -> None:
    if not right:
        raise Wrong


def attributes(rest: str, known: set[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    while True:
        without = rest
        while without and is_white(without[0]):
            without = without[1:]
        if without == "]":
            break
        check(without != rest and '="' in without)
        key, _, behind = without.partition('="')
        check(key in known and key not in given)
        given[key], rest = value(behind)
    check(given.keys() == known and trimmed(given.get("path", "x")) != "")
    return given


def value(text: str) -> tuple[str, str]:
    """A value, and what stands behind its closing quote."""
    said = ""
    while text:
        if text[:2] in ('\\"', "\\\\"):
            said, text = said + text[1], text[2:]
        elif text[0] == '"':
            return said, text[1:]
        else:
            said, text = said + text[0], text[1:]
    raise Wrong


def one_backslash_less(line: str, name: str) -> str:
    tag = trimmed(line)
    bare = tag.lstrip("\\")
    if bare != tag and (opens_at(bare, 0, name) or bare == f"[/{name}]"):
        return line.replace("\\", "", 1)
    return line


def command(name: str, line: int, given: dict[str, str], body: list[str]) -> AnswerItem:
    content = "".join(f"{text}\n" for text in body)
    if name == "CREATE_FILE":
        return CreateFile(line=line, path=given["path"], content=content)
    if name == "EDIT_FILE":
        start, end = number(given["start_line"]), number(given["end_line"])
        return EditFile(line=line, path=given["path"], start_line=start, end_line=end, content=content)
    if name == "DELETE_FILE":
        return DeleteFile(line=line, path=given["path"])
    if name == "READ_FILE":
        return ReadFile(line=line, path=given["path"])
    if name == "DONE":
        return Done(line=line, text=without_newlines(body))
    if name == "RUN_COMMAND":
        body = out_of_fence(body)
    check(any(map(trimmed, body)))
    text = without_newlines(body)
    return RunCommand(line=line, command=text) if name == "RUN_COMMAND" else ShowMessage(line=line, text=text)


def number(text: str) -> int:
    check(1 <= len(text) <= 9 and all(digit in "0123456789" for digit in text))
    return int(text)


def without_newlines(body: list[str]) -> str:
    while body and not body[-1]:
        body = body[:-1]
    return "\n".join(body)


def out_of_fence(body: list[str]) -> list[str]:
    places = [place for place, line in enumerate(body) if trimmed(line)]
    if not places:
        return body
    first, last = trimmed(body[places[0]]), trimmed(body[places[-1]])
    if not first.startswith("```") and not last.startswith("```"):
        return body
    word = first.lstrip("`")
    letters = all(letter in "_+.-" or (letter.isascii() and letter.isalnum()) for letter in word)
    check(len(places) >= 2 and first.startswith("```") and letters)
    check(last.startswith("```") and not last.strip("`"))
    return body[places[0] + 1 : places[-1]]


def in_doubt(lines: Sequence[str], pieces: Sequence[Piece]) -> list[tuple[set[int], tuple[int, str]]]:
    """Sets of lines of which nothing is carried out, each with the closing tag that is the reason."""
    spans = []
    for piece in pieces:
        for index, name in loose(lines, piece):
            before = [line for line in range(piece.first) if has_opening(lines[line], name)]
            if before:
                span = set(range(before[0], index + 1))
                for other in pieces:
                    of_other = set(range(other.first, other.last + 1))
                    if other.asked is not None and of_other & set(range(before[0], index + 1)):
                        span |= of_other
                spans.append((span, (index, name)))
    return joined(spans)


def loose(lines: Sequence[str], piece: Piece) -> Iterator[tuple[int, str]]:
    if piece.asked is None:
        yield piece.first, piece.name
    elif isinstance(piece.asked, Malformed):
        for name in WITH_BODY:
            waiting = 0
            for index in range(piece.first + 1, piece.last + 1):
                if name == piece.name:
                    continue
                if closes(lines[index], name):
                    if not waiting:
                        yield index, name
                    waiting = max(0, waiting - 1)
                elif has_opening(lines[index], name) and not ends_with_closing(lines[index], name):
                    waiting += 1


def joined(spans: list[tuple[set[int], tuple[int, str]]]) -> list[tuple[set[int], tuple[int, str]]]:
    for one in spans:
        for other in spans:
            if one is not other and one[0] & other[0]:
                rest = [span for span in spans if span is not one and span is not other]
                return joined([*rest, (one[0] | other[0], min(one[1], other[1]))])
    return spans
