"""Write, lock and remove files so that a killed process does no harm (C10, I12, I15, J12, O9, S10, Z9, Z10)."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = [
    "TEMPORARY_SUFFIX",
    "is_locked",
    "make_private",
    "open_locked",
    "remove_tree",
    "sync_directory",
    "write_all",
    "write_new",
    "write_whole",
]

PRIVATE: Final = 0o600
TEMPORARY_SUFFIX: Final = ".tmp"
"""The end of the name of each file that `write_whole` has not finished."""


def write_whole(
    path: Path, data: bytes, *, mode: int | None = PRIVATE, sole_writer: bool = False, sync: bool = True
) -> None:
    """Write a file by way of a temporary file beside it: a reader sees the old content or the new, never a part.

    The file gets the permission bits `mode`; None leaves them to the umask. With `sync`, file and name are on stable
    storage when this returns. A killed writer leaves the temporary file. A `sole_writer`, which never writes to `path`
    twice at a time, names it `{path}.tmp` and replaces what an earlier one left; any other takes a name of its own.
    Raise OSError; then the temporary file is removed. (C10, I12, Z9)
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
    """Make a file with this content. The parameters are those of `write_whole`.

    Raise FileExistsError when the path has anything, also a link, and OSError; then the file is removed. (S10)
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    fd = os.open(path, flags, 0o666 if mode is None else PRIVATE)
    try:
        try:
            write_all(fd, data)
            if mode is not None:
                os.fchmod(fd, mode)  # whatever the umask took away
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
    """Bring the names in a directory to stable storage. Raise OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def open_locked(path: Path, flags: int = os.O_RDWR | os.O_CREAT, *, wait: bool = False) -> int:
    """Return the descriptor of a file that is locked for this process alone, until the descriptor is closed.

    A file that does not exist is made, for its owner alone. Raise BlockingIOError at once while another process has the
    lock, unless told to `wait`; raise OSError, also where the path is a link. (I15, J12, O9, Z9)
    """
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | (0 if wait else os.O_NONBLOCK), PRIVATE)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(fd)
        raise
    return fd


def is_locked(fd: int) -> bool:
    """Return whether another descriptor of an open file has the lock of `open_locked`. Raise OSError. (J20)"""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)  # at once: the next owner may be waiting for it
    return False


def make_private(directory: Path) -> None:
    """Make a directory for its owner alone, whatever the umask is; keep one that exists. Raise OSError. (Z9)"""
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        if not directory.is_dir():
            raise
    else:
        directory.chmod(0o700)


def remove_tree(path: Path) -> None:
    """Remove a file, a link, or a directory with all in it, whatever its permission bits are.

    A path that does not exist is left so. Each directory is moved up to the first before it is emptied, so that none is
    too deep for paths or the stack. After a kill, another call removes the rest. Raise OSError. (Z10)
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    waiting = [path]
    while waiting:
        directory = waiting.pop()
        directory.chmod(0o700)
        with os.scandir(directory) as found:
            entries = list(found)
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                Path(entry).unlink()
            elif directory == path:
                waiting.append(Path(entry))
            else:
                waiting.append(_move_up(Path(entry), path))
        if directory != path:
            directory.rmdir()
    with suppress(FileNotFoundError):
        path.rmdir()


def _move_up(directory: Path, top: Path) -> Path:
    directory.chmod(0o700)  # without it '..' cannot be changed
    return directory.rename(top / os.urandom(8).hex())


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
