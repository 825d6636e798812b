"""What may be told of lines that have no facet of their own: unknown ones, and items that failed (M0, T4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from codex_adapter.agents.codex.stream import lines as te
from codex_adapter.events import UnknownLine

__all__ = ["PLAIN_NAME", "failure", "unknown_line"]

PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""What the CLI's own names look like."""


def unknown_line(line: te.Unknown, mask: Callable[[str], str]) -> UnknownLine:
    """The names of a line that nobody knows, each masked first and then cut to its plain beginning (M0)."""

    def plain(name: str | None) -> str | None:
        found = None if name is None else PLAIN_NAME.match(mask(name))
        return None if found is None else found[0]

    return UnknownLine(plain(line.type), plain(line.item_type))


def failure(line: te.ItemFailed) -> str:
    """What the line says of an item that failed, or that it did."""
    said = line.error.get("message") if isinstance(line.error, dict) else line.error
    if isinstance(said, str):
        return said
    return line.item.message if isinstance(line.item, te.ErrorItem) else f"{line.item.__struct_config__.tag} failed"
