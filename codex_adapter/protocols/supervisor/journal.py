"""The journal: a file for each run, of every record with the time at which it was written (J12, J14).

Whoever writes to a file holds its lock, from before its first byte on, and nobody else ever writes to it. So one that
has something in it and that nobody has locked is of a run that is over: a torn line at its end will never be finished.
Of an empty one only the daemon whose run it is knows whether the run lives.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from io import BufferedRandom, BytesIO
from pathlib import Path
from typing import Any, Final, TypeVar

import trio

from codex_adapter import BackendError
from codex_adapter.protocols.supervisor.journal_pages import Page, cut_torn_line, read_page, size_of

__all__ = ["Journal", "JournalFile", "Page", "cannot_be_kept"]

_WRITERS: Final = 16
"""How many files are brought to storage at once: a file system writes down many together for the price of one."""
_T = TypeVar("_T")


def cannot_be_kept() -> BackendError:
    """The error of a run whose records cannot be written (J12)."""
    advice = "The journal cannot be written to; look at its disk, and at the limit of open files."
    return BackendError("io", advice=advice)


class JournalFile:
    """The journal of one live run, whose path is in `live` until it is closed.

    The file is not opened before there is something to be added: thousands of runs may wait for their turn.
    """

    def __init__(self, path: Path, live: set[Path], limiter: trio.CapacityLimiter) -> None:
        self._path = path
        self._live = live
        self._limiter = limiter
        self._fd: int | None = None
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
        """Nothing will be added. May be called again."""
        self._live.discard(self._path)
        fd, self._fd = self._fd, None
        if fd is not None:
            with suppress(OSError):  # what has been appended is safe in any case
                os.close(fd)

    def _append(self, records: bytes) -> None:
        time = datetime.now(UTC).strftime('{"time":"%Y-%m-%dT%H:%M:%S.%f')[:-3].encode() + b'Z",'
        data = b"".join([time + line[1:] for line in BytesIO(records).readlines()])
        if self._fd is None:
            self._fd = _open_locked(self._path)
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
        self._live: set[Path] = set()
        self._limiter = trio.CapacityLimiter(_WRITERS)

    def create(self, run_id: str) -> JournalFile:
        """A new journal. Raises FileExistsError when the run has one, and OSError."""
        path = self._path(run_id)
        fd = _open_no_link(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        try:
            os.fchmod(fd, 0o600)  # whatever the umask was
        except OSError:
            path.unlink()
            raise
        finally:
            os.close(fd)
        self._live.add(path)
        return JournalFile(path, self._live, self._limiter)

    async def read(self, run_id: str, from_seq: int) -> Page:
        """The records of a run from `from_seq` on, as many as make a page. Raises OSError when it has no journal."""
        return await _in_a_thread(self._limiter, self._read, self._path(run_id), from_seq)

    def _path(self, run_id: str) -> Path:
        return self._directory / f"{run_id}.jsonl"

    def _read(self, path: Path, from_seq: int) -> Page:
        with open(path, "r+b", opener=_open_no_link) as file:
            begun = size_of(file) > 0
            live = path in self._live or _has_writer(file)
            if begun and not live:
                cut_torn_line(file)
            return read_page(file, from_seq, live=live)


def _open_no_link(path: Path | str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _open_locked(path: Path) -> int:
    fd = _open_no_link(path, os.O_WRONLY | os.O_APPEND)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        os.close(fd)
        raise
    return fd


def _has_writer(file: BufferedRandom) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    # At once: who is about to write its first record waits for us.
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


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
