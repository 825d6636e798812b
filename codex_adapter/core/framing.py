"""Bytes -> lines, bounded: cut at newlines only, whatever the cuts between reads (L1, L2, L3, L5)."""

from __future__ import annotations

from io import BytesIO
from typing import TypeAlias

import msgspec

__all__ = ["Line", "LineFramer", "OversizeLine", "content_of"]


class OversizeLine(msgspec.Struct, frozen=True, gc=False):
    """Stands in place of a line over the limit: its length and the limit in bytes, and nothing of it (L2)."""

    length: int
    limit: int


Line: TypeAlias = bytes | bytearray | OversizeLine
"""A line as it was read, with its ending; it may be one of white space."""


def content_of(line: bytes | bytearray) -> bytes | bytearray:
    """The line without its newline and one carriage return before it; empty when it is of white space (L1)."""
    if line.isspace():
        return b""
    end = len(line) - line.endswith(b"\n")
    end -= line.endswith(b"\r", 0, end)
    return line if end == len(line) else line[:end]  # a long one has no newline any more, and is not copied


class LineFramer:
    """Cuts a byte stream into lines, and skips those longer than `limit` bytes (L2)."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._skipped = 0  # bytes of an unfinished line over the limit; its buffer is empty by then
        self._skipped_ends_in_cr = False

    @property
    def skipping(self) -> bool:
        """Whether the line that has not ended yet is over the limit already."""
        return self._skipped > 0

    @property
    def held(self) -> int:
        """How many bytes of the line that has not ended yet are held."""
        return len(self._buffer)

    def receive_data(self, data: bytes) -> list[Line]:
        """The lines that `data` completes, in order."""
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
            # It searches for newlines, where `split` looks at each byte: a quarter of the time.
            lines += BytesIO(data[start:end]).readlines()
        self._hold(data[end:])
        return lines

    def receive_eof(self) -> list[Line]:
        """What stands after the last newline, as a line too (L3)."""
        lines: list[Line] = []
        self._release(lines)
        return lines

    def _hold(self, piece: bytes) -> None:
        # One byte over the limit is kept: it may be the carriage return that is dropped.
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
