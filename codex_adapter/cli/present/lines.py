"""Build lines of safe text, each with its tone, and print them without escape codes (C7)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["Line", "Tone", "first_line", "last_lines", "one_line", "plain_text", "printable", "with_facts"]

Tone: TypeAlias = Literal[
    "answer", "thought", "started", "ok", "failed", "output", "plan", "notice", "warning", "error", "waiting"
]

_OUTPUT_LINES: Final = 5
_OUTPUT_WIDTH: Final = 200
_PREFIXES: Final[dict[Tone, str]] = {
    "answer": "",
    "thought": "~ ",
    "started": "> ",
    "ok": "+ ",
    "failed": "x ",
    "output": "  | ",
    "plan": "  ",
    "notice": "# ",
    "warning": "! ",
    "error": "! ",
    "waiting": "# ",
}
# Characters that move the cursor, or change the state of the terminal or the reading order. Tab and line feed stay.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Line(NamedTuple):
    """Text to show, of one or more lines."""

    tone: Tone
    text: str


def printable(text: str) -> str:
    """Return a text with a visible sign in place of every character that controls a terminal."""

    def sign(match: re.Match[str]) -> str:
        code = ord(match[0])
        return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"

    return _UNSAFE.sub(sign, text.replace("\r\n", "\n"))


def first_line(text: str) -> str:
    """Return the first line of a text as safe text of limited length, with a sign if it was cut."""
    line, _, more = printable(text).strip().partition("\n")
    return line[:_OUTPUT_WIDTH] + ("…" if more or len(line) > _OUTPUT_WIDTH else "")


def one_line(text: str) -> str:
    """Return a text as one line of safe text."""
    return " ".join(printable(text).split("\n"))


def last_lines(output: str, most: int = _OUTPUT_LINES) -> list[Line]:
    """Return the end of an output as a few lines of safe text of limited length."""
    lines = printable(output).strip("\n").split("\n") if output.strip() else []
    return [Line("output", line[:_OUTPUT_WIDTH]) for line in lines[-most:]]


def with_facts(label: str, facts: Iterable[str]) -> str:
    """Return a label with its facts in parentheses, if any."""
    joined = ", ".join(facts)
    return f"{label} ({joined})" if joined else label


def plain_text(lines: Iterable[Line]) -> bytes:
    """Return the bytes of lines, each after the sign of its tone."""
    return "".join(
        f"{_PREFIXES[line.tone]}{text}".rstrip() + "\n" for line in lines for text in line.text.split("\n")
    ).encode()
