"""Find the tags of an answer, and parse opening tags (I1, I2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["BODIES", "WHITE_SPACE", "MalformedError", "TagLine", "closing_tag", "read_attributes", "tag_lines"]

_ATTRIBUTES: Final = {
    "CREATE_FILE": ("path",),
    "EDIT_FILE": ("path", "start_line", "end_line"),
    "DELETE_FILE": ("path",),
    "READ_FILE": ("path",),
    "RUN_COMMAND": (),
    "MESSAGE": (),
    "DONE": (),
}
BODIES: Final = frozenset(_ATTRIBUTES) - {"DELETE_FILE", "READ_FILE"}
"""The commands that have a body."""
WHITE_SPACE: Final = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
)
"""The characters that lines are trimmed of (I1)."""

_NAMES: Final = "|".join(_ATTRIBUTES)
# `\b`: a name with another letter, digit or `_` after it is another name.
_TAG: Final = re.compile(rf"\[/?(?:{_NAMES})\b")
_OPENING: Final = re.compile(rf"\[({_NAMES})\b")
# Possessive quantifiers do not backtrack, so the time is linear in the length of the text.
_ATTRIBUTE: Final = re.compile(rf'[{WHITE_SPACE}]++([^{WHITE_SPACE}="\]]++)="((?:[^"\\]|\\.)*+)"', re.DOTALL)
_END: Final = re.compile(rf"[{WHITE_SPACE}]*+\]")
_ESCAPED: Final = re.compile(r'\\(["\\])')
_OTHER_QUOTES: Final = frozenset("“”„‟«»″‘’'")
_PRINTABLE_NAME: Final = re.compile(r"[a-z_]{1,32}")
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,9}")


class MalformedError(ValueError):
    """A block is malformed; the text gives the reason and the next step."""


def closing_tag(name: str) -> str:
    """Return the closing tag of a command."""
    return f"[/{name}]"


_CLOSING: Final = {closing_tag(name): name for name in BODIES}


class TagLine(NamedTuple):
    """A line of an answer with a tag."""

    number: int
    """From 1."""
    start: int
    """The offset of its beginning in the text."""
    end: int
    """The offset of its end, without the newline."""
    tag: str
    """The line, trimmed."""
    opens: str
    """The command whose opening tag is at the beginning of the line, or empty."""
    closes: str
    """The command whose closing tag is the whole line, or empty."""
    mentions: frozenset[str]
    """The commands with an opening tag at any place of the line."""

    def ends_with_closing(self, name: str) -> bool:
        """Return whether the line ends with a command's closing tag."""
        return self.tag.endswith(closing_tag(name))


def tag_lines(text: str) -> Iterator[TagLine]:
    """Yield the lines with tags in order, in linear time."""
    number, counted, position = 1, 0, 0
    while hit := _TAG.search(text, position):
        start = text.rfind("\n", position, hit.start()) + 1 or position
        end = text.find("\n", hit.end())
        end = len(text) if end < 0 else end
        number += text.count("\n", counted, start)
        counted, position = start, end + 1
        tag = text[start:end].strip(WHITE_SPACE)
        opening = _OPENING.match(tag)
        mentions = frozenset(found[1] for found in _OPENING.finditer(tag))
        yield TagLine(number, start, end, tag, opening[1] if opening else "", _CLOSING.get(tag, ""), mentions)


def read_attributes(name: str, tag: str) -> dict[str, str]:
    """Return all attributes of an opening tag. Raises `MalformedError` if one is missing or wrong (I2)."""
    found: dict[str, str] = {}
    position = len(name) + 1
    while attribute := _ATTRIBUTE.match(tag, position):
        key, value = attribute.groups()
        if key not in _ATTRIBUTES[name]:
            what = f"attribute {key}" if _PRINTABLE_NAME.fullmatch(key) else "an attribute"
            raise MalformedError(f"{what} does not exist for {name}; {_example(name)}")
        if key in found:
            raise MalformedError(f"attribute {key} is repeated. Write it once")
        found[key] = _ESCAPED.sub(r"\1", value)
        position = attribute.end()
    _check_end(name, tag, position)
    for key in _ATTRIBUTES[name]:
        _check_value(name, key, found.get(key))
    return found


def _check_end(name: str, tag: str, position: int) -> None:
    end = _END.match(tag, position)
    if end is None and _OTHER_QUOTES.intersection(tag):
        raise MalformedError(f'attributes are not in straight double quotes, "; {_example(name)}')
    if end is None:
        raise MalformedError(f"the tag is malformed, or does not end on its line; {_example(name)}")
    if end.end() < len(tag):
        below = f" and {closing_tag(name)} on another line below" if name in BODIES else ""
        raise MalformedError(f"the line has more text after the tag. Put the tag on a line of its own{below}")


def _check_value(name: str, key: str, value: str | None) -> None:
    if value is None:
        raise MalformedError(f"attribute {key} is missing; {_example(name)}")
    if key == "path" and not value.strip(WHITE_SPACE):
        raise MalformedError("attribute path is empty. Write the path of a file, relative to the workspace")
    if key != "path" and not _WHOLE_NUMBER.fullmatch(value):
        raise MalformedError(f"attribute {key} is not a whole number of at most nine digits; line numbers count from 1")


def _example(name: str) -> str:
    attributes = "".join(f' {key}="{"..." if key == "path" else "1"}"' for key in _ATTRIBUTES[name])
    return f"write [{name}{attributes}] on a line of its own"
