"""The journal: a file for each run, of every record with the time at which it was written (J12, J13, J14).

Whoever writes to a file holds its lock, from before its first byte on, and nobody else ever writes to it. So one that
has something in it and that nobody has locked is of a run that is over: a torn line at its end will never be finished.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from io import BufferedRandom, BytesIO
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
import trio
from msgspec import Meta, Raw

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

    seq: Annotated[int, Meta(ge=0)]
    type: Literal["event", "completion"]


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
        with suppress(OSError):  # what has been appended is safe in any case
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
            if not os.fstat(self._fd).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "the file was removed, and what is in it will be gone with us")
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
        self._directory = directory.absolute()
        missing = [it for it in (self._directory, *self._directory.parents) if not it.exists()]
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for made in missing:
            # A file that is on stable storage is lost all the same when the way to it is not.
            _sync_directory(made.parent)
        if not os.access(self._directory, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError
        self._limiter = trio.CapacityLimiter(_WRITERS)

    def create(self, run_id: str) -> JournalFile:
        """A new journal. Raises FileExistsError when the run has one, and OSError."""
        path = self._path(run_id)
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        file = JournalFile(path, fd, self._limiter)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.fchmod(fd, 0o600)  # whatever the umask was
        except OSError:
            file.withdraw()
            raise
        return file

    async def read(self, run_id: str, from_seq: int) -> Page:
        """The records of a run from `from_seq` on, as many as make a page. Raises OSError when it has no journal."""
        return await _in_a_thread(self._limiter, self._read, self._path(run_id), from_seq)

    def _path(self, run_id: str) -> Path:
        return self._directory / f"{run_id}.jsonl"

    def _read(self, path: Path, from_seq: int) -> Page:
        with open(path, "r+b", opener=_open_no_link) as file:
            begun = _size(file) > 0
            live = _has_writer(file)
            if begun and not live:
                # Several may do so at once: they all find the same end.
                _cut_torn_line(file)
            size = _size(file)
            # What is told from here on must outlast a crash as well.
            os.fdatasync(file.fileno())
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


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)


def _size(file: BufferedRandom) -> int:
    return os.fstat(file.fileno()).st_size


def _has_writer(file: BufferedRandom) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    # At once: one who is about to write to the file, which is empty then, waits for us.
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def _cut_torn_line(file: BufferedRandom) -> None:
    end = size = _size(file)
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
