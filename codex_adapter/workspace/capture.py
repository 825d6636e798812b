"""What a command printed, within a bound: its beginning and its end, and how much between them was left out (H11)."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["KEEP", "Capture", "Captured"]

KEEP: Final = 131_072
"""Bytes of one output that are kept by default."""

_LONGEST_CHARACTER: Final = 4


class Captured(msgspec.Struct, frozen=True, gc=False):
    """An output: all of it in `head`, or its two ends with `left_out` bytes missing between them (H11).

    Where something is missing, neither end is cut within a character.
    """

    head: bytes
    left_out: int = 0
    tail: bytes = b""

    def text(self) -> str:
        """The output as UTF-8, U+FFFD for what is none; a line in its middle tells how many bytes were left out."""
        head = self.head.decode(errors="replace")
        if not self.left_out:
            return head
        return f"{head}\n[... {self.left_out} bytes left out ...]\n{self.tail.decode(errors='replace')}"


class Capture:
    """Takes an output in pieces of any size and holds no more than twice `keep` bytes of it (H11)."""

    def __init__(self, keep: int = KEEP) -> None:
        self._keep_tail = keep // 2
        self._keep_head = keep - self._keep_tail
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """The next piece."""
        self._total += len(data)
        missing = self._keep_head - len(self._head)
        if missing > 0:
            self._head += data[:missing]
            data = data[missing:]
        # What is surely no part of the end is let go of in large pieces: each costs a copy of the rest.
        self._tail += data[max(0, len(data) - self._keep_tail) :]
        if len(self._tail) > 2 * self._keep_tail:
            del self._tail[: len(self._tail) - self._keep_tail]

    def captured(self) -> Captured:
        """All that was taken so far."""
        tail = self._tail[max(0, len(self._tail) - self._keep_tail) :]
        if len(self._head) + len(tail) == self._total:
            return Captured(bytes(self._head + tail))
        head = self._head[: _last_boundary(self._head)]
        tail = tail[_first_boundary(tail) :]
        return Captured(bytes(head), self._total - len(head) - len(tail), bytes(tail))


def _last_boundary(data: bytearray) -> int:
    """Where the character begins that `data` ends within; its length where it ends with a character."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data) + 1)):
        byte = data[-back]
        if not _continues(byte):
            length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return len(data) - back if length > back else len(data)
    return len(data)


def _first_boundary(data: bytearray) -> int:
    """Where the first character begins; at most as far as a character reaches that was begun before."""
    boundary = 0
    while boundary < min(_LONGEST_CHARACTER - 1, len(data)) and _continues(data[boundary]):
        boundary += 1
    return boundary


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80
