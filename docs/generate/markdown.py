"""Write Markdown: cells, tables and blocks of code that render as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

__all__ = ["LONGEST_STRING", "cell", "code", "json_block", "shortened", "table", "without_ids"]

LONGEST_STRING: Final = 200
MOST_ITEMS: Final = 4

_ID: Final = r"[A-Z]{1,2}(?:[0-9]{1,2})?"
_REFERENCES: Final = re.compile(rf"\s*\({_ID}(?:(?:,|;|\s+to)\s+{_ID})*\)")
_SPANS: Final = re.compile(r"(`[^`]*`)")
_MARKUP: Final = re.compile(r"([\\*_<>|\[\]])")


def cell(text: str) -> str:
    """Return plain text as Markdown for one line; spans in backticks stay code."""
    parts = _SPANS.split(" ".join(text.split()))
    return "".join(part if part.startswith("`") else _MARKUP.sub(r"\\\1", part) for part in parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. The cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def code(text: str, language: str = "text") -> str:
    """Return a block of code."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n\n"


def json_block(value: Any) -> str:
    """Return a JSON value as an indented block of code."""
    return code(json.dumps(value, indent=2, ensure_ascii=False), "json")


def without_ids(docstring: str) -> str:
    """Return a docstring without references to rules, which are of use only beside the rules."""
    return _REFERENCES.sub("", docstring)


def shortened(value: Any) -> Any:
    """Return a JSON value with long strings cut and long lists shortened, of the same shape."""
    if isinstance(value, str) and len(value) > LONGEST_STRING:
        return f"{value[:LONGEST_STRING]}…"
    if isinstance(value, list):
        return [shortened(item) for item in value[:MOST_ITEMS]]
    if isinstance(value, dict):
        return {name: shortened(member) for name, member in value.items()}
    return value
