"""Write and lock files so that a killed process does no harm (C10, I12, I15, J12, O9, S10, Z9)."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = [
    "TEMPORARY_SUFFIX",
    "is_locked",
    "open_locked",
    "sync_directory",
    "write_all",
    "write_new",
    "write_whole",
]

PRIVATE: Final = 0o600
TEMPORARY_SUFFIX: Final = ".tmp"
"""The suffix of a temporary file of `write_whole`."""


def write_whole(
    path: Path, data: bytes, *, mode: int | None = PRIVATE, sole_writer: bool = False, sync: bool = True
) -> None:
    """Write a file through a temporary file next to it: a reader sees the old content or the new, never a part.

    The file gets the permission bits `mode`; None leaves them to the umask. With `sync`, file and name are on stable
    storage when this returns. A killed writer leaves the temporary file behind. A `sole_writer` never writes to `path`
    twice at a time; it names the temporary file `{path}.tmp` and replaces an earlier one. Any other writer uses a
    unique name. Raise OSError after removing the temporary file (C10, I12, Z9).
    """
    if sole_writer:
        temporary = path.with_name(f"{path.name}{TEMPORARY_SUFFIX}")
        temporary.unlink(missing_ok=True)
    else:
        temporary = path.with_name(f".codex-adapter-{os.urandom(8).hex()}{TEMPORARY_SUFFIX}")
    write_new(temporary, data, mode=mode, sync=sync)
    try:
        temporary.replace(path)
    except BaseException:
        _remove(temporary)
        raise
    if sync:
        sync_directory(path.parent)


def write_new(path: Path, data: bytes, *, mode: int | None = PRIVATE, sync: bool = False) -> None:
    """Create a file with this content. The parameters are those of `write_whole`.

    Raise FileExistsError if the path exists, also as a link. Raise OSError after removing the file (S10).
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    fd = os.open(path, flags, 0o666 if mode is None else PRIVATE)
    try:
        try:
            write_all(fd, data)
            if mode is not None:
                os.fchmod(fd, mode)  # regardless of the umask
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
    except BaseException:
        _remove(path)
        raise


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`, in as many calls as the system needs. Raise OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_directory(path: Path) -> None:
    """Write the names in a directory to stable storage. Raise OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def open_locked(path: Path, flags: int = os.O_RDWR | os.O_CREAT, *, wait: bool = False) -> int:
    """Return the descriptor of a file with an exclusive lock, which lasts until the descriptor is closed.

    A missing file is created for its owner alone. Raise BlockingIOError at once if another process has the lock, unless
    `wait` is true. Raise OSError, also if the path is a link (I15, J12, O9, Z9).
    """
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | (0 if wait else os.O_NONBLOCK), PRIVATE)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(fd)
        raise
    return fd


def is_locked(fd: int) -> bool:
    """Return whether another descriptor of an open file has the lock of `open_locked`. Raise OSError (J20)."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)  # at once: the next owner may wait for it
    return False


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
