"""Capture the output of a command within a bound: its beginning and its end (H11)."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["KEEP", "Capture", "Captured"]

KEEP: Final = 131_072
"""The bytes of each output that are kept by default."""

_LONGEST_CHARACTER: Final = 4


class Captured(msgspec.Struct, frozen=True, gc=False):
    """An output: all of it in `head`, or its two ends with `left_out` bytes missing between them (H11).

    If bytes are missing, neither end is cut within a character.
    """

    head: bytes
    left_out: int = 0
    tail: bytes = b""

    def text(self) -> str:
        """Return the output as text, U+FFFD for invalid UTF-8; a line in the middle counts the bytes left out."""
        head = self.head.decode(errors="replace")
        if not self.left_out:
            return head
        return f"{head}\n[... {self.left_out} bytes left out ...]\n{self.tail.decode(errors='replace')}"


class Capture:
    """Capture an output in pieces of any size, with at most twice `keep` bytes in memory (H11)."""

    def __init__(self, keep: int = KEEP) -> None:
        self._keep_tail = keep // 2
        self._keep_head = keep - self._keep_tail
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """Add the next piece."""
        self._total += len(data)
        missing = self._keep_head - len(self._head)
        if missing > 0:
            self._head += data[:missing]
            data = data[missing:]
        # Bytes before the end are dropped in large pieces, since each drop copies the rest.
        self._tail += data[max(0, len(data) - self._keep_tail) :]
        if len(self._tail) > 2 * self._keep_tail:
            del self._tail[: len(self._tail) - self._keep_tail]

    def captured(self) -> Captured:
        """Return the output so far."""
        tail = self._tail[max(0, len(self._tail) - self._keep_tail) :]
        if len(self._head) + len(tail) == self._total:
            return Captured(bytes(self._head + tail))
        head = self._head[: _last_boundary(self._head)]
        tail = tail[_first_boundary(tail) :]
        return Captured(bytes(head), self._total - len(head) - len(tail), bytes(tail))


def _last_boundary(data: bytearray) -> int:
    """Return the index of an incomplete last character; the length of `data` if the last character is complete."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data) + 1)):
        byte = data[-back]
        if not _continues(byte):
            length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return len(data) - back if length > back else len(data)
    return len(data)


def _first_boundary(data: bytearray) -> int:
    """Return the index of the first complete character."""
    boundary = 0
    while boundary < min(_LONGEST_CHARACTER - 1, len(data)) and _continues(data[boundary]):
        boundary += 1
    return boundary


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80
