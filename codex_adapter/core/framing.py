"""Split bytes into bounded lines, only at newlines, however the reads cut the bytes (L1, L2, L3, L5)."""

from __future__ import annotations

from io import BytesIO
from typing import TypeAlias

import msgspec

__all__ = ["Line", "LineFramer", "OversizeLine", "content_of"]


class OversizeLine(msgspec.Struct, frozen=True, gc=False):
    """A replacement for a line over the limit: its length and the limit in bytes, without its content (L2)."""

    length: int
    limit: int


Line: TypeAlias = bytes | bytearray | OversizeLine
"""A line as it was read, with its line ending. It may consist of white space."""


def content_of(line: bytes | bytearray) -> bytes | bytearray:
    """Return the line without its newline and one carriage return before it; empty for a line of white space (L1)."""
    if line.isspace():
        return b""
    end = len(line) - line.endswith(b"\n")
    end -= line.endswith(b"\r", 0, end)
    return line if end == len(line) else line[:end]  # a long line has lost its newline already, and is not copied


class LineFramer:
    """A splitter of a byte stream into lines, which skips lines longer than `limit` bytes (L2)."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._skipped = 0  # bytes of an unfinished line over the limit; `_buffer` is empty then
        self._skipped_ends_in_cr = False

    @property
    def skipping(self) -> bool:
        """Whether the unfinished line is over the limit already."""
        return self._skipped > 0

    @property
    def held(self) -> int:
        """The number of buffered bytes of the unfinished line."""
        return len(self._buffer)

    def receive_data(self, data: bytes) -> list[Line]:
        """Return the lines that `data` completes, in order."""
        start, end = 0, data.rfind(b"\n") + 1
        lines: list[Line] = []
        if end and (self._buffer or self._skipped):
            start = data.find(b"\n") + 1
            self._hold(data[: start - 1])
            self._release(lines)
        if end - start > self._limit:
            for line in data[start : end - 1].split(b"\n"):
                self._hold(line)
                self._release(lines)
        elif start < end:
            # `readlines` searches for newlines; `split` compares each byte and takes four times as long.
            lines += BytesIO(data[start:end]).readlines()
        self._hold(data[end:])
        return lines

    def receive_eof(self) -> list[Line]:
        """Return the text after the last newline, as a line too (L3)."""
        lines: list[Line] = []
        self._release(lines)
        return lines

    def _hold(self, piece: bytes) -> None:
        # Keep one byte over the limit: it may be the carriage return to remove.
        if not self._skipped and len(self._buffer) + len(piece) <= self._limit + 1:
            self._buffer += piece
        elif piece:
            self._skipped += len(self._buffer) + len(piece)
            self._skipped_ends_in_cr = piece.endswith(b"\r")
            self._buffer = bytearray()

    def _release(self, lines: list[Line]) -> None:
        length = self._skipped - self._skipped_ends_in_cr or len(self._buffer) - self._buffer.endswith(b"\r")
        if length > self._limit:
            lines.append(OversizeLine(length, self._limit))
        elif length:
            lines.append(self._buffer)
        self._buffer = bytearray()
        self._skipped = 0
        self._skipped_ends_in_cr = False
