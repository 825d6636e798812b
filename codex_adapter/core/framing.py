"""Bytes -> lines, bounded: split at newline only, whatever the cuts between reads (L1, L2, L3, L5)."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

__all__ = ["Line", "LineFramer", "OversizeLine"]


# What sorts behind it begins neither with white space nor not at all.
_WHITE_SPACE: Final = b" \xff"


class OversizeLine(msgspec.Struct, frozen=True, gc=False):
    """Stands in place of a line over the limit: its length in bytes, and nothing of it (L2)."""

    length: int

    def __len__(self) -> int:
        return self.length


Line: TypeAlias = bytes | bytearray | OversizeLine


class LineFramer:
    """Cuts a byte stream into lines without their newline, and skips lines longer than `limit` bytes (L2).

    A line of only white space is no line; one carriage return before the newline is dropped (L1).
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._skipped = 0  # bytes of an unfinished line over the limit; its buffer is empty by then
        self._skipped_ends_in_cr = False

    def receive_data(self, data: bytes) -> list[Line]:
        """The lines that `data` completes, in order."""
        pieces = data.split(b"\n")
        last = pieces.pop()
        lines: list[Line] = []
        if pieces and (self._buffer or self._skipped):
            self._hold(pieces[0])
            pieces[0] = b""
            self._release(lines)
        if len(data) <= self._limit and b"\r" not in data and pieces and min(pieces) > _WHITE_SPACE:
            lines += pieces
        else:
            for line in pieces:
                self._finish(line, lines)
        if last:
            self._hold(last)
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
        if self._skipped:
            lines.append(OversizeLine(self._skipped - self._skipped_ends_in_cr))
            self._skipped = 0
        else:
            buffer, self._buffer = self._buffer, bytearray()
            self._finish(buffer, lines)

    def _finish(self, line: bytes | bytearray, lines: list[Line]) -> None:
        if line.endswith(b"\r"):
            line = line[:-1]
        if len(line) > self._limit:
            lines.append(OversizeLine(len(line)))
        elif line and not line.isspace():
            lines.append(line)
