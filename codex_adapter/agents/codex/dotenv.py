"""Parse the assignments of a `.env` file as the CLI does, which uses the Rust crate dotenvy (X5).

If two parsers could read a value differently, both results are returned: an additional mask is harmless.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

__all__ = ["assignments"]

_MOST_SUBSTITUTED: Final = 4 * 1024 * 1024
"""The limit of the characters that substitutions add, because a few lines could expand to petabytes."""
# A line, which can have line ends within quotes. A comment can have quotes.
_LOGICAL_LINE: Final = re.compile(
    r"(?:\\[^\n]|\"(?:\\.|[^\"\\])*+(?:\"|\Z)|'(?:\\.|[^'\\])*+(?:'|\Z)"
    r"|(?:(?<=[^\S\n])|^)#[^\n]*+|[^\\\"'\n#]++|[\\#])*+(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_ASSIGNMENT: Final = re.compile(r"(?s)\s*+(?:export\s++(?!=))?([\w.]++)\s*+=\s*+(.*)")
_PIECES: Final = (
    r"(?s)\\(?P<escaped>.?)|'(?P<strong>[^']*+)'?|(?P<quote>\")|\$\{(?P<block>[^}]*+)\}?"
    r"|\$(?P<name>%s)|(?P<space>[ \t])|[^\\'\"$ \t]++|\$"
)
# After a name without braces, dotenvy copies one character unchanged, even a quote or a space.
_DOTENVY: Final = re.compile(_PIECES % r"[^\W_]*+)(?P<next>[^$\w]|_|\Z")
_SHELL: Final = re.compile(_PIECES % r"\w*+)(?P<next>")


class _Reader:
    """A reader of values with one syntax of variables; with `file_first`, the file overrides the environment."""

    def __init__(self, pieces: re.Pattern[str], environment: Mapping[str, str], *, file_first: bool) -> None:
        self._pieces, self._environment, self._file_first = pieces, environment, file_first
        self._variables: dict[str, str] = {}
        self._left = _MOST_SUBSTITUTED

    def read(self, name: str, text: str) -> str:
        value = self._variables[name] = "".join(self._parts(text))
        return value

    def _parts(self, text: str) -> Iterator[str]:
        weak, place = False, 0
        while piece := self._pieces.match(text, place):
            place = piece.end()
            match piece.lastgroup:
                case "escaped":
                    yield "\n" if piece["escaped"] == "n" else piece["escaped"]
                case "strong" if weak:
                    yield "'"
                    place = piece.start() + 1
                case "strong":
                    yield piece["strong"]
                case "quote":
                    weak = not weak
                case "block":
                    yield self._substituted(piece["block"])
                case "next":
                    yield self._substituted(piece["name"]) + piece["next"]
                case "space" if not weak:
                    return  # a comment follows, or an error
                case _:
                    yield piece[0]

    def _substituted(self, name: str) -> str:
        first, second = self._environment, self._variables
        if self._file_first:
            first, second = second, first
        value = first.get(name) or second.get(name, "")
        self._left -= len(value)
        return value if self._left >= 0 else ""


def assignments(text: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a file in each possible reading, in time linear in its length."""
    readers = (
        _Reader(_DOTENVY, environment, file_first=True),
        _Reader(_SHELL, environment, file_first=False),
    )
    logical = dict.fromkeys(line[0].rstrip() for line in _LOGICAL_LINE.finditer(text))
    # A stray quote would hide the lines after it, so each line is also read by itself.
    for line in dict.fromkeys([*logical, *(line.rstrip() for line in text.split("\n"))]):
        if assignment := _ASSIGNMENT.fullmatch(line):
            name, value = assignment.groups()
            yield name, value.strip("'\"")
            for reader in readers:
                yield name, reader.read(name, value)
