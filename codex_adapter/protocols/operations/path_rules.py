"""Match paths with patterns of a policy: `*` and `?` within a name, `**` across directories (A5)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["first_match", "plain"]


def first_match(patterns: Iterable[str], path: str) -> str | None:
    """Return the first pattern that matches a path, which is absolute or below the workspace's root."""
    return next((pattern for pattern in patterns if _compiled(pattern).fullmatch(path)), None)


def plain(path: str, directory: str = "") -> str:
    """Return a path relative to the root, normalized: no `.`, no `//`, and `..` only at its beginning."""
    normal = posixpath.normpath(posixpath.join(directory, path))
    return normal[1:] if normal.startswith("//") else normal


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    expression = ""
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", pattern):
        match piece:
            case "**/":
                expression += r"(?:.*/)?"
            case "**":
                expression += r".*"
            case "*":
                expression += r"[^/]*"
            case "?":
                expression += r"[^/]"
            case _:
                expression += re.escape(piece)
    return re.compile(expression, re.DOTALL)
