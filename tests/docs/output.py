"""Compare the output that a page shows with what a command printed (DC10)."""

from __future__ import annotations

import difflib
import re
from typing import Final

__all__ = ["differences"]

VARIABLE: Final = (
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b[0-9a-f]{8}(?=_seq|\b)|(?<=\brun_)[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?"), "TIME"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:s|ms)\b"), "SECONDS"),
    (re.compile(r'"(seconds|started|time|pid|durationMs)":\s?[\d.]+'), r'"\1":N'),
    (re.compile(r"\b\d+\.\d+\.\d+\b"), "VERSION"),
    (re.compile(r"codex-adapter-demo-\w+"), "DEMO"),
    (re.compile(r"[ \t]+"), " "),
)
"""What is different each time: ids, times, durations, versions, widths of columns."""


def _pattern(text: str) -> list[str]:
    for expression, name in VARIABLE:
        text = expression.sub(name, text)
    return [line.rstrip() for line in text.strip("\n").split("\n")]


def differences(shown: str, printed: str) -> str:
    """Return a readable difference, or an empty text. A line `...` on the page is any number of lines."""
    ours, theirs = _pattern(shown), _pattern(printed)
    parts = [r"(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in ours]
    if sorted(ours) == sorted(theirs):  # runs at the same time print in any order
        return ""
    if re.fullmatch("".join(parts), "".join(f"{line}\n" for line in theirs)):
        return ""
    return "\n".join(difflib.unified_diff(ours, theirs, "on the page", "printed", lineterm=""))
