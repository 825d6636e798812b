"""Remove the empty files and directories that an agent's sandbox creates as mount points and leaves behind (K8)."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import trio

from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry, inquire, mount_points
from codex_adapter.runtime.containment.marks import pids
from codex_adapter.runtime.mount_notes import Note, enter, left_notes

__all__ = ["mount_targets_removed", "remove_left_targets"]

_PATIENCE: Final = 2.0
"""Seconds for which the start and the end of a run wait for the file system."""


@asynccontextmanager
async def mount_targets_removed(roots: Sequence[str], names: Sequence[str]) -> AsyncIterator[None]:
    """Remove, on exit, the mount points with these names that the sandbox left in the directories `roots`.

    Remove only entries that did not exist on entry, are empty, and are not a mount point of any process. Of several
    runs in a directory, the last one removes them, because the sandbox of another run may be about to use them.
    """
    used = _Used()
    try:
        with suppress(BackendError):
            await inquire(_enter, used, roots, names, seconds=_PATIENCE)
        yield
    finally:
        with trio.CancelScope(shield=True), suppress(BackendError):
            await inquire(_leave, used, seconds=_PATIENCE)
        used.end()


class _Used:
    """The directories of one run. A thread that is late, or never starts, keeps no note open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: list[Note] = []
        self._ended = False

    def add(self, note: Note) -> None:
        """Keep the note of a directory, or close it if the run has ended."""
        with self._lock:
            if not self._ended:
                self._notes.append(note)
                return
        note.close()

    def pop(self) -> Note | None:
        """Return a note that the caller closes; None if there is no more."""
        with self._lock:
            return self._notes.pop() if self._notes else None

    def end(self) -> None:
        """Close all notes."""
        with self._lock:
            self._ended = True
        while note := self.pop():
            note.close()


def _enter(inquiry: Inquiry, used: _Used, roots: Sequence[str], names: Sequence[str]) -> None:
    entered = set()
    for root in roots:
        inquiry.at("directory that the agent may write to", root)
        real = os.path.realpath(root)
        if real not in entered:
            entered.add(real)
            with suppress(OSError):
                if note := enter(real, names):
                    used.add(note)


def _leave(inquiry: Inquiry, used: _Used) -> None:
    mounted: set[str] | None = None
    while note := used.pop():
        try:
            inquiry.at("directory that the agent may write to", note.directory)
            with suppress(OSError):
                if note.lock_alone():
                    mounted = _remove(note, mounted, inquiry)
        finally:
            note.close()


def remove_left_targets() -> None:
    """Remove the mount points and the notes that killed adapters of this user left (K8, N5)."""
    mounted: set[str] | None = None
    for note in left_notes():
        with suppress(OSError):
            mounted = _remove(note, mounted, Inquiry())


def _remove(note: Note, mounted: set[str] | None, inquiry: Inquiry) -> set[str] | None:
    """Remove the mount points of a note and the note. Return the mount points of all processes, if they were read."""
    try:
        # The agent may have replaced it with another directory, or with a link to one.
        fd = os.open(note.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            facts = os.fstat(fd)
            # In reverse order, the content of a directory comes before the directory.
            left = [name for name in sorted(note.names, reverse=True) if _is_target(fd, name)]
            if left and (facts.st_dev, facts.st_ino) == note.identity:
                mounted = _mounted() if mounted is None else mounted
                for name in left:
                    if f"{note.directory}/{name}" not in mounted and not inquiry.abandoned:
                        _remove_target(fd, name)
        finally:
            os.close(fd)
    finally:
        note.remove()
    return mounted


def _remove_target(directory: int, name: str) -> None:
    with suppress(OSError), _entry(directory, name) as (above, last):  # it is not empty
        try:
            os.rmdir(last, dir_fd=above)
        except NotADirectoryError:
            if _is_target(above, last):
                os.unlink(last, dir_fd=above)


def _is_target(directory: int, name: str) -> bool:
    """Return whether the entry is a directory, or an empty read-only file as CLI 0.125 creates."""
    with suppress(OSError), _entry(directory, name) as (above, last):
        found = os.stat(last, dir_fd=above, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            return found.st_size == 0 and not found.st_mode & 0o222
        return stat.S_ISDIR(found.st_mode)
    return False


@contextmanager
def _entry(directory: int, name: str) -> Iterator[tuple[int, str]]:
    """Open the directory of an entry, to which no link leads, and yield it with the last part of the name."""
    *above, last = name.split("/")
    with ExitStack() as opened:
        for part in above:
            directory = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            opened.callback(os.close, directory)
        yield directory, last


def _mounted() -> set[str]:
    """Return the mount points of all processes: the removal of such a directory would end the mount."""
    found: set[str] = set()
    namespaces: set[int] = set()
    for pid in pids():
        with suppress(OSError):
            namespace = Path(f"/proc/{pid}/ns/mnt").stat().st_ino
            if namespace not in namespaces:
                found.update(mount_points(pid))
                namespaces.add(namespace)
    return found
