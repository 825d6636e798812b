"""The front matter of a SKILL.md: enough of YAML to know a skill by, and nothing that YAML would not take (Z2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from codex_adapter.protocols.turns.spaces.errors import SpaceError

__all__ = ["read_front_matter"]

_FENCE: Final = "---"
_KEY: Final = re.compile(
    r"""(?P<key>[^\s\-?:,\[\]{}\#&*!|>'"%@`][^:\#]*|"[^"\\]+"[ \t]*|'[^']+'[ \t]*):(?:[ \t]+(?P<value>.*))?"""
)
_NO_TEXT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
"""What YAML refuses, or takes for the end of a line."""
_BLOCK: Final = re.compile(r"[|>](?:[-+]?(?P<indent>[1-9])?|[1-9][-+])(?:[ \t]+#.*)?", re.ASCII)
_QUOTED: Final = {'"': re.compile(r'"((?:[^"\\]|\\.)*)"'), "'": re.compile(r"'((?:[^']|'')*)'")}
_IN_QUOTES: Final = re.compile("|".join(quoted.pattern for quoted in _QUOTED.values()))
_NOT_PLAIN: Final = re.compile(r"""[\[\]{},#&*!|>%@`"']|[-?:](?:[ \t]|$)|.*:(?:[ \t]|$)""")
"""What YAML does not take for a text without quotes."""
_TABLE: Final = re.compile(r".*:(?:[ \t]|$)")
_COMMENT: Final = re.compile(r"[ \t]+#.*")
_BELOW: Final = re.compile(r"[ \t\]}]|-(?: |$)")
"""How lines begin that belong to the key above."""
_NULL: Final = frozenset({"~", "null", "Null", "NULL"})
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPED: Final = dict(zip('0abtnvfre "/\\N_LP\t', '\0\a\b\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029\t', strict=True))


def read_front_matter(text: str, name: str) -> dict[str, str]:
    """Texts by keys, each on one line, empty for what is no text (Z2).

    `name` is how errors call the file. Raises `SpaceError`.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        raise SpaceError(f"{name} does not begin with front matter between lines '---'")
    found: dict[str, tuple[int, str, list[str]]] = {}
    below: list[str] | None = None
    for number, line in enumerate(lines[1 : lines.index(_FENCE, 1)], 2):
        if _NO_TEXT.search(line):
            raise SpaceError(f"{name}: line {number} has a character that is no text; remove it")
        matched = _KEY.fullmatch(line)
        if matched:
            key = matched["key"].strip(" \t\"'")
            if key in found:
                raise SpaceError(f"{name}: the key in line {number} is there twice")
            below = []
            found[key] = number, (matched["value"] or "").strip(), below
        elif below is not None and (not line or _BELOW.match(line)):
            below.append(line)
        elif line and not line.startswith("#"):
            raise SpaceError(f"{name}: line {number} is no 'key: value'")
    return {
        key: " ".join(_value(value, lines, f"{name}: the value in line {number}").split())
        for key, (number, value, lines) in found.items()
    }


def _value(value: str, below: Sequence[str], what: str) -> str:
    below = [line for line in below if line]
    if any(line.startswith("\t") for line in below):
        raise SpaceError(f"{what} has lines that begin with a tab; indent them by spaces")
    if block := _BLOCK.fullmatch(value):
        return _block(below, block["indent"], what)
    structured = not value or value.startswith(("#", "[", "{"))
    if not structured and any(line[0] != " " for line in below):
        raise _no_yaml(what)
    texts = [line.strip() for line in below]
    if not value or value.startswith("#"):
        texts = [text for text in texts if not text.startswith("#")]
        if not texts or texts[0].startswith("-") or _KEY.fullmatch(texts[0]):
            return ""  # nothing, a list, or a table
        value, *texts = texts
    if value[0] in "[{":
        return _flow([value, *texts], what)
    if value[0] in _QUOTED:
        return _quoted(" ".join([value, *texts]), what)
    return _plain([value, *texts], what)


def _block(below: Sequence[str], indent: str | None, what: str) -> str:
    spaces = int(indent) if indent else len(below[0]) - len(below[0].lstrip(" ")) if below else 1
    if not spaces or any(not line.startswith(" " * spaces) for line in below):
        raise SpaceError(f"{what} has lines that are indented less than its first")
    return "\n".join(line.strip() for line in below)


def _flow(texts: Sequence[str], what: str) -> str:
    """A list or a table in brackets is no text, but has to end."""
    bare = " ".join(_COMMENT.split(_IN_QUOTES.sub("", text))[0] for text in texts).strip()
    if any(bare.count(left) != bare.count(right) for left, right in ("[]", "{}")) or bare[-1:] not in ("]", "}"):
        raise _no_yaml(what)
    return ""


def _plain(texts: Sequence[str], what: str) -> str:
    parts = [*texts[:-1], _COMMENT.split(texts[-1])[0]]
    first, *more = parts
    if _NOT_PLAIN.match(first) or any(map(_COMMENT.search, parts)):
        raise _no_yaml(what)
    if any(part.startswith("#") or _TABLE.match(part) for part in more):
        raise _no_yaml(what)
    return "" if first in _NULL and not more else " ".join(parts)


def _quoted(text: str, what: str) -> str:
    quoted = _QUOTED[text[0]].match(text)
    rest = text[quoted.end() :].lstrip() if quoted else text
    if quoted is None or (rest and not rest.startswith("#")):
        raise SpaceError(f"{what} does not end with the quote that it begins with")
    if text[0] == "'":
        return quoted[1].replace("''", "'")
    try:
        plain = _ESCAPE.sub(lambda it: _ESCAPED[it[4]] if it[4] else chr(int(it[1] or it[2] or it[3], 16)), quoted[1])
    except (KeyError, ValueError, OverflowError):
        raise SpaceError(f"{what} has a backslash with which nothing begins that YAML knows; double it") from None
    if _NO_TEXT.search(" ".join(plain.split())) or not _is_text(plain):
        raise SpaceError(f"{what} has a character that is no text; remove it")
    return plain


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _no_yaml(what: str) -> SpaceError:
    return SpaceError(f"{what} is no YAML as it stands; put it in quotes")
