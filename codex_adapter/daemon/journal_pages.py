"""Read a page of records from a journal, from any record on, without the records before it (J13).

A damaged line is skipped.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from io import BufferedRandom
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Raw

__all__ = ["Page", "cut_torn_line", "read_page", "size_of"]

_PAGE_BYTES: Final = 256 * 1024
_PIECE: Final = 8 * 1024
_LARGEST_PIECE: Final = 1024 * 1024
_USUAL_LINE: Final = 64 * 1024
_LONGEST_LINE: Final = 64 * 1024 * 1024
"""A longer line is not a record but damage."""


class Page(msgspec.Struct, frozen=True):
    """A part of a journal: records, the completion if it is included, and the number of the next record.

    `more` is whether the journal has further records now. `live` is whether the run may still write records.
    """

    records: list[Raw]
    completion: Raw | None
    next_seq: int
    more: bool
    live: bool


class _Place(msgspec.Struct, frozen=True):
    """The number and the type of a record."""

    seq: Annotated[int, Meta(ge=0)]
    type: Literal["event", "completion"]


_place = msgspec.json.Decoder(_Place)


def read_page(file: BufferedRandom, from_seq: int, *, live: bool) -> Page:
    """Return one page of records from `from_seq` on, after a sync to stable storage. Raise OSError."""
    size = size_of(file)
    # A record that was returned must survive a crash.
    os.fdatasync(file.fileno())
    lines = _Lines(file, size)
    start = bisect_left(range(size), from_seq, key=lines.seq_after)
    return _page(lines.whole_from(start), from_seq, live=live)


def cut_torn_line(file: BufferedRandom) -> None:
    """Remove the bytes after the last complete line. Several processes may do this together: all find the same end."""
    end = size = size_of(file)
    while end:
        start = max(end - 65_536, 0)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        end = start + newline + 1
        if newline >= 0:
            break
    if end < size:
        file.truncate(end)


def size_of(file: BufferedRandom) -> int:
    """Return the current size of a file in bytes."""
    return os.fstat(file.fileno()).st_size


def _page(lines: Iterable[bytes], from_seq: int, *, live: bool) -> Page:
    records: list[Raw] = []
    size, next_seq = 0, from_seq
    for line in lines:
        if size >= _PAGE_BYTES:
            return Page(records, None, next_seq, more=True, live=live)
        place = _placed(line)
        if place is not None and place.type == "completion":
            return Page(records, Raw(line), place.seq + 1, more=False, live=live)
        if place is not None:
            records.append(Raw(line))
            next_seq = place.seq + 1
            size += len(line)
    return Page(records, None, next_seq, more=False, live=live)


class _Lines:
    """The lines of a file's first `size` bytes. Memory is bounded, and each byte of a long line is read once."""

    def __init__(self, file: BufferedRandom, size: int) -> None:
        self._file = file
        self._size = size
        self._skipped = (0, 0)  # the range that was searched for the end of the last long line

    def seq_after(self, offset: int) -> int:
        """Return the `seq` of the first complete record that begins at or after `offset`, or more than any."""
        for line in self.whole_from(offset):
            if (place := _placed(line)) is not None:
                return place.seq
        return sys.maxsize

    def whole_from(self, offset: int) -> Iterator[bytes]:
        """Yield the complete lines that begin at or after `offset`. Replace each damaged line with an empty one."""
        at = self._next_beginning(offset - 1) if offset else 0
        while at < self._size:
            self._file.seek(at)
            line = self._file.readline(_USUAL_LINE)
            if not line.endswith(b"\n") and line.startswith(b"{"):
                line += self._file.readline(_LONGEST_LINE - len(line))
            end = at + len(line) if line.endswith(b"\n") else self._next_beginning(at + len(line))
            if end > self._size:
                return
            yield line[:-1] if end == at + len(line) else b""
            at = end

    def _next_beginning(self, offset: int) -> int:
        """Return the end of the line with the byte at `offset`. It is beyond the file if the line has no end."""
        at, piece = offset, _PIECE
        while at < self._size:
            start, end = self._skipped
            if start <= at < end:
                at = end
                break
            data = os.pread(self._file.fileno(), piece, at)
            newline = data.find(b"\n")
            at = at + newline + 1 if newline >= 0 else at + len(data)
            if newline >= 0:
                break
            if not data:
                return self._size + 1
            piece = min(2 * piece, _LARGEST_PIECE)
        else:
            at = self._size + 1
        if piece == _LARGEST_PIECE:
            self._skipped = (offset, at)
        return at


def _placed(line: bytes) -> _Place | None:
    """Return the number and the type of the record in a line; None if the line is damaged."""
    try:
        line.decode()
        return _place.decode(line)
    except (UnicodeDecodeError, msgspec.MsgspecError, RecursionError):
        return None
