"""The journal: a file for each run, of every record with the time at which it was written (J12, J13, J14).

Whoever writes to a file holds its lock. So a file that nobody has locked is of a run that is over, and a torn line at
its end will never be finished.
"""

from __future__ import annotations

import fcntl
import os
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from io import BufferedRandom, BytesIO
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import trio
from msgspec import Raw

__all__ = ["Journal", "JournalFile", "Page"]

_PAGE_BYTES: Final = 1024 * 1024
_WRITERS: Final = 16
"""How many files are brought to storage at once: a file system writes down many together for the price of one."""
_T = TypeVar("_T")


class Page(msgspec.Struct, frozen=True):
    """A part of a journal: records, the completion if they reach it, where to go on, and whether there is more."""

    records: list[Raw]
    completion: Raw | None
    next_seq: int
    more: bool
    live: bool


class _Place(msgspec.Struct, frozen=True):
    """Where a record stands."""

    seq: int
    type: str


_place = msgspec.json.Decoder(_Place)


class JournalFile:
    """The journal of one live run."""

    def __init__(self, path: Path, fd: int, limiter: trio.CapacityLimiter) -> None:
        self._path = path
        self._fd = fd
        self._limiter = limiter
        self._size = 0

    async def append(self, records: bytes) -> None:
        """Write these lines, each with the time, and return once they are on stable storage. Raises OSError.

        Never torn by a cancellation; what could not be written whole is taken back.
        """
        with trio.CancelScope(shield=True):
            await _in_a_thread(self._limiter, self._append, records)

    def withdraw(self) -> None:
        """The run was refused: it has no journal."""
        with suppress(OSError):
            self._path.unlink()
        self.close()

    def close(self) -> None:
        """Nothing will be added."""
        os.close(self._fd)

    def _append(self, records: bytes) -> None:
        time = datetime.now(UTC).strftime('{"time":"%Y-%m-%dT%H:%M:%S.%f')[:-3].encode() + b'Z",'
        data = b"".join([time + line[1:] for line in BytesIO(records).readlines()])
        try:
            if not self._size:
                _sync_directory(self._path.parent)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            os.fdatasync(self._fd)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise
        self._size += len(data)


class Journal:
    """The journals in a directory, which several daemons may share.

    Raises OSError when it cannot be made or written to.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError
        self._directory = directory.resolve()
        self._limiter = trio.CapacityLimiter(_WRITERS)

    def create(self, run_id: str) -> JournalFile:
        """A new journal. Raises FileExistsError when the run has one, and OSError."""
        path = self._path(run_id)
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        return JournalFile(path, fd, self._limiter)

    async def read(self, run_id: str, from_seq: int) -> Page:
        """The records of a run from `from_seq` on, as many as make a page. Raises OSError when it has no journal."""
        return await _in_a_thread(self._limiter, self._read, self._path(run_id), from_seq)

    def _path(self, run_id: str) -> Path:
        return self._directory / f"{run_id}.jsonl"

    def _read(self, path: Path, from_seq: int) -> Page:
        with path.open("r+b") as file:
            live = not _lock(file, fcntl.LOCK_SH)
            # Others may read it too; what is torn is left out in any case.
            if not live and _lock(file, fcntl.LOCK_EX):
                _cut_torn_line(file)
            # What is told from here on must outlast a crash as well.
            os.fdatasync(file.fileno())
            size = file.seek(0, os.SEEK_END)
            start = bisect_left(range(size), from_seq, key=lambda offset: _seq_after(file, offset, size))
            _to_line(file, start)
            return _page(_whole_lines(file, size), from_seq, live=live)


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
    while file.tell() < size and (line := file.readline()).endswith(b"\n"):
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
    try:
        return _place.decode(line)
    except msgspec.MsgspecError:
        return None


def _lock(file: BufferedRandom, kind: int) -> bool:
    """Whether it could be locked in this way: shared, it has no writer; exclusive, no other reader either."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _cut_torn_line(file: BufferedRandom) -> None:
    end = size = file.seek(0, os.SEEK_END)
    while end:
        start = max(end - 65_536, 0)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        end = start + newline + 1
        if newline >= 0:
            break
    if end < size:
        file.truncate(end)


def _sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


async def _in_a_thread(limiter: trio.CapacityLimiter, work: Callable[..., _T], *args: Any) -> _T:
    try:
        return await trio.to_thread.run_sync(work, *args, limiter=limiter)
    except RuntimeError:
        # No thread can be had; it can be done here as well.
        return work(*args)
