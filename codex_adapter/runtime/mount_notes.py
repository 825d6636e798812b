"""Note for the concurrent runs in a directory which mount points did not exist before the first of them (K8).

A note is a file in the temporary directory. All runs of an agent in the directory have a shared lock on it, in all
adapters of a user. A run with the exclusive lock is the only one there. The note of a killed adapter stays, without a
lock.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from codex_adapter.runtime.containment.marks import boot_id

__all__ = ["Note", "enter", "left_notes"]

_PREFIX: Final = "codex-adapter-mounts-"
_NAME: Final = re.compile(rf"{_PREFIX}([0-9]+)\.([0-9]+)\.([0-9]+)\.[0-9a-f]+")
_FLAGS: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOST_BYTES: Final = 65_536
_TRIES: Final = 100
_PAUSE: Final = 0.01
"""Seconds between two tries. A run has the exclusive lock for a few milliseconds."""


class Note(NamedTuple):
    """An open note: its path, its descriptor with a lock, its directory, and the mount points that did not exist.

    `identity` is the device and the inode of the directory.
    """

    path: Path
    fd: int
    directory: str
    identity: tuple[int, int]
    names: frozenset[str]

    def lock_alone(self) -> bool:
        """Return whether no other run uses the directory. Until `close`, other runs then wait to enter it."""
        return _lock(self.fd, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the file, with the exclusive lock held."""
        with suppress(OSError):
            if _is_at(self.fd, self.path):
                self.path.unlink()

    def close(self) -> None:
        """Release the lock."""
        os.close(self.fd)


def enter(directory: str, names: Iterable[str]) -> Note | None:
    """Return the note for a directory and the names that one agent uses, with a shared lock, or None without one.

    The first run writes down which of `names` do not exist now. What a killed adapter wrote down still holds. Raise
    OSError if the directory or the temporary directory cannot be used.
    """
    found = Path(directory).stat()
    agent = crc32(os.fsencode("\0".join(names)))
    path = Path(tempfile.gettempdir(), f"{_PREFIX}{os.geteuid()}.{found.st_dev}.{found.st_ino}.{agent:x}")
    for _ in range(_TRIES):
        fd = os.open(path, _FLAGS | os.O_CREAT, 0o600)
        try:
            if not _is_own(fd):
                return None
            if _lock(fd, fcntl.LOCK_EX):
                _write(fd, path, directory, names)
            # Another run may have removed the file in between.
            if _lock(fd, fcntl.LOCK_SH) and _is_at(fd, path):
                _, missing = _read(fd)
                note = Note(path, fd, directory, (found.st_dev, found.st_ino), missing & frozenset(names))
                fd = -1
                return note
        finally:
            if fd >= 0:
                os.close(fd)
        time.sleep(_PAUSE)
    return None


def left_notes() -> Iterator[Note]:
    """Return the notes of killed adapters of this user, each with the exclusive lock, and close them one by one."""
    with suppress(OSError):
        for path in list(Path(tempfile.gettempdir()).iterdir()):
            if (place := _NAME.fullmatch(path.name)) and int(place[1]) == os.geteuid():
                with suppress(OSError):
                    yield from _left_note(path, (int(place[2]), int(place[3])))


def _left_note(path: Path, identity: tuple[int, int]) -> Iterator[Note]:
    fd = os.open(path, _FLAGS)
    try:
        if _is_own(fd) and _lock(fd, fcntl.LOCK_EX) and _is_at(fd, path):
            directory, names = _read(fd)
            yield Note(path, fd, directory, identity, names)
    finally:
        os.close(fd)


def _lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_own(fd: int) -> bool:
    """Return whether the file is one that only this user can have made, and no other name of another file."""
    found = os.fstat(fd)
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink <= 1


def _is_at(fd: int, path: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(fd), path.lstat())
    return False


def _read(fd: int) -> tuple[str, frozenset[str]]:
    """Return the directory and the names in a note; none if it is empty or from before the start of the machine."""
    boot, *rest = os.fsdecode(os.pread(fd, _MOST_BYTES, 0)).split("\0")
    if boot != boot_id() or not rest:
        return "", frozenset()
    return rest[0], frozenset(rest[1:])


def _write(fd: int, path: Path, directory: str, names: Iterable[str]) -> None:
    """Add the names that do not exist now, with the exclusive lock held."""
    missing = _read(fd)[1] | {name for name in names if not os.path.lexists(f"{directory}/{name}")}
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, os.fsencode("\0".join([boot_id(), directory, *sorted(missing)])), 0)
    except OSError:
        path.unlink(missing_ok=True)
        raise
