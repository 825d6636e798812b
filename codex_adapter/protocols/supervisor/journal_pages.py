"""A journal's file as it is read: a page of records from any one on, found without reading what is before it (J13).

What is no record, because the disk has lost it, hides none of the others.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections.abc import Iterable
from io import BufferedRandom
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Raw

__all__ = ["Page", "cut_torn_line", "read_page", "size_of"]

_PAGE_BYTES: Final = 256 * 1024


class Page(msgspec.Struct, frozen=True):
    """A part of a journal: records, the completion if they reach it, where to go on, and whether there is more."""

    records: list[Raw]
    completion: Raw | None
    next_seq: int
    more: bool
    live: bool


class _Place(msgspec.Struct, frozen=True):
    """Where a record stands."""

    seq: Annotated[int, Meta(ge=0)]
    type: Literal["event", "completion"]


_place = msgspec.json.Decoder(_Place)


def read_page(file: BufferedRandom, from_seq: int, *, live: bool) -> Page:
    """The records from `from_seq` on, as many as make a page, all of them on stable storage. Raises OSError."""
    size = size_of(file)
    # What is told from here on must outlast a crash as well.
    os.fdatasync(file.fileno())
    start = bisect_left(range(size), from_seq, key=lambda offset: _seq_after(file, offset, size))
    _to_line(file, start)
    return _page(_whole_lines(file, size), from_seq, live=live)


def cut_torn_line(file: BufferedRandom) -> None:
    """Remove what stands after the last whole line. Several may do so at once: they all find the same end."""
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
    """How many bytes a file has now."""
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


def _whole_lines(file: BufferedRandom, size: int) -> Iterable[bytes]:
    at = file.tell()
    while (line := file.readline()).endswith(b"\n") and (at := at + len(line)) <= size:
        yield line[:-1]


def _seq_after(file: BufferedRandom, offset: int, size: int) -> int:
    """The `seq` of the first whole record that begins at `offset` or after it; more than any when there is none."""
    _to_line(file, offset)
    for line in _whole_lines(file, size):
        if (place := _placed(line)) is not None:
            return place.seq
    return sys.maxsize


def _to_line(file: BufferedRandom, offset: int) -> None:
    """Go to the first beginning of a line at `offset` or after it."""
    file.seek(max(offset - 1, 0))
    if offset:
        file.readline()


def _placed(line: bytes) -> _Place | None:
    """Where the record of a line stands; None when the line was damaged."""
    try:
        line.decode()
        return _place.decode(line)
    except (UnicodeDecodeError, msgspec.MsgspecError, RecursionError):
        return None
