"""Parse JSON by the grammar of RFC 8259 and keep the text of every value, without a library."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["DEEPEST", "NotJsonError", "UnclearError", "Value", "parse"]

DEEPEST = 200
"""Levels of nesting that every reader takes."""

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null")


class NotJsonError(Exception):
    """The text is no JSON, or the bytes are no UTF-8."""


class UnclearError(Exception):
    """The text is JSON only to some: it is nested deeper than every reader takes, or has half of a surrogate pair."""


class Value(NamedTuple):
    """A value: its type's name in JSON, its text, the members of an object by name (the last wins), or the items."""

    kind: str
    text: str
    members: dict[str, Value]
    items: Sequence[Value]


def parse(data: bytes) -> Value:
    """The one value of a text. Raises NotJsonError and UnclearError."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise NotJsonError("no UTF-8") from error
    value, end = _value(text, _skip(text, 0), 0)
    if _skip(text, end) != len(text):
        raise NotJsonError("something after the value")
    if "\\u" in text and any(_half(string[0]) for string in _STRING.finditer(text)):
        raise UnclearError
    return value


def _half(string: str) -> bool:
    return any(0xD800 <= ord(character) < 0xE000 for character in json.loads(string))


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space is not None
    return space.end()


def _value(text: str, at: int, depth: int) -> tuple[Value, int]:
    if depth > DEEPEST:
        raise UnclearError
    first = text[at : at + 1]
    if first == "{":
        return _object(text, at, depth)
    if first == "[":
        return _array(text, at, depth)
    for kind, pattern in (("string", _STRING), ("number", _NUMBER), ("word", _WORD)):
        found = pattern.match(text, at)
        if found is not None:
            return Value(found[0] if kind == "word" else kind, found[0], {}, ()), found.end()
    raise NotJsonError("no value")


def _object(text: str, start: int, depth: int) -> tuple[Value, int]:
    members: dict[str, Value] = {}
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        name = _STRING.match(text, at)
        at = _skip(text, name.end()) if name is not None else at
        if name is None or text[at : at + 1] != ":":
            raise NotJsonError("no member")
        members[json.loads(name[0])], at = _value(text, _skip(text, at + 1), depth + 1)
        at = _next(text, at, "}")
    return Value("object", text[start : at + 1], members, ()), at + 1


def _array(text: str, start: int, depth: int) -> tuple[Value, int]:
    items: list[Value] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        item, at = _value(text, at, depth + 1)
        items.append(item)
        at = _next(text, at, "]")
    return Value("array", text[start : at + 1], {}, items), at + 1


def _next(text: str, at: int, end: str) -> int:
    """Where the next member begins, or `end` stands."""
    at = _skip(text, at)
    if text[at : at + 1] == end:
        return at
    if text[at : at + 1] != ",":
        raise NotJsonError("no comma")
    at = _skip(text, at + 1)
    if text[at : at + 1] == end:
        raise NotJsonError("a comma too many")
    return at
