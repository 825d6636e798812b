"""Write a journal: a file for each run, with each record and the time at which it was written (J12, J14).

Only one process writes to a file. It locks the file before the first byte. So if a file is not empty and not locked,
its run has ended, and a torn line at its end stays incomplete. Only the daemon of a run knows whether the run of an
empty file is live.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeVar

import trio

from codex_adapter import BackendError
from codex_adapter.daemon.journal_pages import Page, cut_torn_line, read_page, size_of
from codex_adapter.daemon.journal_retention import remove_older
from codex_adapter.durable import is_locked, open_locked, sync_directory, write_all, write_new
from codex_adapter.own_directories import make_private

__all__ = ["Journal", "JournalFile", "Page", "cannot_be_kept"]

_WRITERS: Final = 16
"""The number of concurrent syncs: a file system syncs many files together in the time of one."""
_PATIENCE: Final = 30.0
"""Seconds for one call of the file system. With fewer, slow storage would end runs."""
_LAST_PATIENCE: Final = 2.0
"""Seconds for one call of the file system while the run is being ended."""
_DAY: Final = 86_400.0
_HELD: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BETWEEN_REMOVALS: Final = 3600.0
_log = logging.getLogger("codex_adapter")
_T = TypeVar("_T")


def cannot_be_kept() -> BackendError:
    """Return the error of a run whose records cannot be written (J12)."""
    advice = "The journal cannot be written. Check the disk and the limit of open files."
    return BackendError("io", advice=advice)


class JournalFile:
    """The journal of one live run. Its path is in `live` from its creation until it is closed.

    The file is opened with the first record, because thousands of runs may wait in the queue. Each call works in a
    thread, and raises OSError if the file system does not answer. After that, nothing is written, and the thread
    removes or closes the file when the file system answers.
    """

    def __init__(
        self,
        path: Path,
        live: set[Path],
        limiter: trio.CapacityLimiter,
        *,
        find_again: Callable[[], None] = lambda: None,
        keeps_prompt: bool = False,
    ) -> None:
        self.keeps_prompt = keeps_prompt
        """Whether the first line has the prompt (J19)."""
        self._path = path
        self._live = live
        self._limiter = limiter
        self._find_again = find_again
        self._fd: int | None = None
        self._size = 0
        self._abandoned = self._exists = False
        self._patience = _PATIENCE
        self._waiting = trio.CancelScope()

    async def create(self) -> None:
        """Create the file. Raise FileExistsError if the run already has one."""
        await self._work(self._create, clean_up=self._remove)

    async def append(self, records: bytes, *, last: bool = False) -> None:
        """Write these lines, each with the time, and return when they are on stable storage. Close after the `last`.

        A cancellation does not interrupt the write. If the write fails, none of these lines is in the file.
        """
        await self._work(self._append, records, last)

    async def withdraw(self) -> None:
        """Remove the file of a run that was refused."""
        with suppress(OSError):
            await self._work(self._remove)
        self._live.discard(self._path)

    async def close(self) -> None:
        """Close the file. Further calls do nothing."""
        if self._fd is not None:
            with suppress(OSError):  # the appended records are on stable storage
                await self._work(self._close)
        self._live.discard(self._path)

    def hurry(self) -> None:
        """Wait at most two more seconds for the file system, because the run is being cancelled."""
        self._patience = _LAST_PATIENCE
        self._waiting.deadline = min(self._waiting.deadline, trio.current_time() + _LAST_PATIENCE)

    async def _work(self, work: Callable[..., None], *args: Any, clean_up: Callable[[], None] | None = None) -> None:
        if self._abandoned:
            raise _no_answer()
        thread = _Thread(clean_up or self._close)
        self._waiting = trio.CancelScope(shield=True, deadline=trio.current_time() + self._patience)
        with self._waiting:
            await _in_a_thread(self._limiter, thread.work, work, *args)
            return
        self._abandoned = thread.abandon()
        raise _no_answer()

    def _create(self) -> None:
        try:
            write_new(self._path, b"")
        except FileNotFoundError:
            self._find_again()
            write_new(self._path, b"")
        self._exists = True
        self._live.add(self._path)

    def _remove(self) -> None:
        self._close()
        if self._exists:
            self._path.unlink(missing_ok=True)

    def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _append(self, records: bytes, last: bool) -> None:
        self._write(records)
        if last:
            self._close()

    def _write(self, records: bytes) -> None:
        stamp = datetime.now(UTC).strftime('{"time":"%Y-%m-%dT%H:%M:%S.%f')[:-3].encode() + b'Z",'
        data = b"".join([stamp + line[1:] for line in BytesIO(records).readlines()])
        if self._fd is None:
            self._fd = open_locked(self._path, os.O_WRONLY | os.O_APPEND, wait=True)
        try:
            if not self._size:
                sync_directory(self._path.parent)
            write_all(self._fd, data)
            os.fdatasync(self._fd)
            if not os.fstat(self._fd).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "the file was removed")
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise
        self._size += len(data)


class Journal:
    """The journals in a directory, which several daemons may share.

    With `prompts`, each journal has the prompt of its run. With `keep_days`, `remove_old` removes journals without a
    write for that many days. The directory is the one that the path names now, and no link. Raise OSError if it cannot
    be created or written. (J12, J19, J20)
    """

    def __init__(self, directory: Path, *, prompts: bool = False, keep_days: int | None = None) -> None:
        directory = directory.absolute()
        self._prompts = prompts
        self._keep_days = keep_days
        missing = [it for it in (directory, *directory.parents) if not it.exists()]
        make_private(directory)
        for made in missing:
            # Sync the directories too: a file is lost if a directory in its path is not on stable storage.
            sync_directory(made.parent)
        # An agent may work in the directory above, and replace this one by a link: files are reached by its descriptor.
        self._held = os.open(directory, _HELD)
        weakref.finalize(self, os.close, self._held)
        self._directory = Path(f"/proc/self/fd/{self._held}")
        self._real = self._directory.readlink()
        if not os.access(self._directory, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError
        self._live: set[Path] = set()
        self._limiter = trio.CapacityLimiter(_WRITERS)
        self._reading = trio.CapacityLimiter(_WRITERS)

    def file(self, run_id: str) -> JournalFile:
        """Return the journal of a new run. Its file does not exist yet."""
        return JournalFile(
            self._path(run_id), self._live, self._limiter, find_again=self._find_again, keeps_prompt=self._prompts
        )

    async def remove_old(self) -> None:
        """Remove the journals of old runs, now and then every hour, until cancelled (J20).

        One thread does this, so that nothing else waits for a file system that does not answer.
        """
        while self._keep_days is not None:
            oldest = time.time() - self._keep_days * _DAY
            removed = 0
            with suppress(OSError, RuntimeError):  # no thread can be started: try again in an hour
                work = partial(remove_older, self._directory, oldest, self._live)
                removed = await trio.to_thread.run_sync(work, limiter=trio.CapacityLimiter(1), abandon_on_cancel=True)
            if removed:
                _log.info("journals removed: %d, older than %d days", removed, self._keep_days)
            await trio.sleep(_BETWEEN_REMOVALS)

    async def read(self, run_id: str, from_seq: int) -> Page:
        """Return one page of the records of a run, from `from_seq` on. Raise OSError if the run has no journal."""
        with trio.move_on_after(_PATIENCE):
            return await _in_a_thread(self._reading, self._read, self._path(run_id), from_seq)
        raise _no_answer()

    def _find_again(self) -> None:
        """Hold the directory that was made again where the removed one was. Raise OSError."""
        found = os.open(self._real, _HELD)
        try:
            if Path(f"/proc/self/fd/{found}").readlink() != self._real:
                raise PermissionError(errno.EPERM, "a link leads to another directory")
            os.dup2(found, self._held, inheritable=False)
        finally:
            os.close(found)

    def _path(self, run_id: str) -> Path:
        return self._directory / f"{run_id}.jsonl"

    def _read(self, path: Path, from_seq: int) -> Page:
        with open(path, "r+b", opener=_open_no_link) as file:
            begun = size_of(file) > 0
            live = path in self._live or is_locked(file.fileno())
            if begun and not live:
                cut_torn_line(file)
            return read_page(file, from_seq, live=live)


class _Thread:
    """A call in a thread that may be abandoned. Then the thread cleans up, because only it may use the file."""

    def __init__(self, clean_up: Callable[[], None]) -> None:
        self._clean_up = clean_up
        self._lock = threading.Lock()
        self._begun = self._ended = self._abandoned = False

    def work(self, work: Callable[..., None], *args: Any) -> None:
        """Make the call, unless it was abandoned before it began."""
        with self._lock:
            if self._abandoned:
                return
            self._begun = True
        try:
            work(*args)
        finally:
            with self._lock:
                self._ended = True
                abandoned = self._abandoned
            if abandoned:
                self._clean_up()

    def abandon(self) -> bool:
        """Abandon the call and let the thread clean up. Return False if the call has already ended."""
        with self._lock:
            self._abandoned = True
            return self._begun and not self._ended


def _no_answer() -> OSError:
    return OSError(errno.ETIMEDOUT, "the file system does not answer")


def _open_no_link(path: Path | str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)


async def _in_a_thread(limiter: trio.CapacityLimiter, work: Callable[..., _T], *args: Any) -> _T:
    try:
        return await trio.to_thread.run_sync(work, *args, limiter=limiter, abandon_on_cancel=True)
    except RuntimeError:
        # No thread can be started: make the call in this one.
        return work(*args)
