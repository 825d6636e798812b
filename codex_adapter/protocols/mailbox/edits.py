"""Replace lines of a file (I9)."""

from __future__ import annotations

from typing import Final

__all__ = ["MOST_EDITED_BYTES", "EditFailed", "replace_lines"]

MOST_EDITED_BYTES: Final = 16 * 1024 * 1024


class EditFailed(Exception):
    """The lines cannot be replaced; the text says why and quotes nothing of the file."""


def replace_lines(content: bytes, start: int, end: int, replacement: str) -> bytes:
    """Return the content with `replacement` in place of lines `start` to `end`, counted from 1 (I9).

    Each line of `replacement` ends with a newline. Raises `EditFailed`.
    """
    if b"\0" in content:
        raise EditFailed("it is no text")
    closed = not content or content.endswith(b"\n")
    count = content.count(b"\n") + (not closed)
    if not 1 <= start <= end <= count:
        raise EditFailed(f"{start} to {end} is no range of lines in it: it has {count}")
    new = replacement.encode()
    if content[: content.find(b"\n") + 1].endswith(b"\r\n"):
        new = new.replace(b"\n", b"\r\n")
    first = _behind_line(content, start - 1, 0)
    behind = len(content) if end == count else _behind_line(content, end - start + 1, first)
    if end == count and not closed:
        new = new.removesuffix(b"\n").removesuffix(b"\r")
    return content[:first] + new + content[behind:]


def _behind_line(content: bytes, lines: int, place: int) -> int:
    """Return where so many lines end that begin at `place`; a list of all lines could be huge."""
    for _ in range(lines):
        place = content.find(b"\n", place) + 1
    return place
