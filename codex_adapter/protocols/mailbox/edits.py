"""Replace lines of a file (I9)."""

from __future__ import annotations

from typing import Final

__all__ = ["MOST_EDITED_BYTES", "EditFailed", "replace_lines"]

MOST_EDITED_BYTES: Final = 16 * 1024 * 1024


class EditFailed(Exception):
    """The lines cannot be replaced; the text gives the reason and quotes nothing from the file."""


def replace_lines(content: bytes, start: int, end: int, replacement: str) -> bytes:
    """Return the content with `replacement` in place of lines `start` to `end`, counted from 1 (I9).

    Each line of `replacement` ends with a newline. Raises `EditFailed`.
    """
    if b"\0" in content:
        raise EditFailed("the file is not text")
    closed = not content or content.endswith(b"\n")
    count = content.count(b"\n") + (not closed)
    if not 1 <= start <= end <= count:
        raise EditFailed(f"start_line {start} and end_line {end} are not lines of the file; it has {count} lines")
    new = replacement.encode()
    if content[: content.find(b"\n") + 1].endswith(b"\r\n"):
        new = new.replace(b"\n", b"\r\n")
    first = _end_of_line(content, start - 1, 0)
    rest = len(content) if end == count else _end_of_line(content, end - start + 1, first)
    if end == count and not closed:
        new = new.removesuffix(b"\n").removesuffix(b"\r")
    return content[:first] + new + content[rest:]


def _end_of_line(content: bytes, lines: int, place: int) -> int:
    """Return the end of the last of `lines` lines that begin at `place`.

    A list of all lines could need too much memory.
    """
    for _ in range(lines):
        place = content.find(b"\n", place) + 1
    return place
