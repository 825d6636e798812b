"""The directory of state below `aspHome`: for one writer at a time, and whole whenever somebody looks (Z9)."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codex_adapter.spaces.errors import SpaceError

__all__ = ["TEMPORARY", "State", "make_private", "unwritable", "write_whole"]

_PATIENCE: Final = 120.0
"""Seconds to wait for other writers, which copy no more than a few spaces."""
_PAUSE: Final = 0.02
_LOCK_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
TEMPORARY: Final = re.compile(r"\..+\.[0-9a-f]{16}|.+\.tmp")
"""Names of files that `write_whole` has not written to their end, now and in former releases."""


class State:
    """The paths in it; nothing is made before something is written."""

    def __init__(self, asp_home: Path) -> None:
        self.root: Final = asp_home / "state"
        self.store: Final = self.root / "store"
        self.locks: Final = self.root / "locks"

    def refuse_links(self) -> None:
        """Raises `SpaceError` where one of its directories is a link, which may lead anywhere (Z9)."""
        if any(directory.is_symlink() for directory in (self.root, self.store, self.locks)):
            raise SpaceError("aspHome: state/, or a directory in it, is a link; put a directory there")

    @contextmanager
    def for_ourselves(self, *, patience: float = _PATIENCE) -> Iterator[None]:
        """Be the only writer; waits up to so many seconds. Raises `SpaceError`."""
        self.refuse_links()
        try:
            self.root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for directory in (self.root, self.store, self.locks):
                make_private(directory)
        except OSError as error:
            raise unwritable(error) from None
        fd = _taken(self.root / "lock", time.monotonic() + patience)
        try:
            yield
        finally:
            os.close(fd)

    def write_whole(self, path: Path, data: bytes) -> None:
        """The function of this name for files in here. Raises `SpaceError`."""
        try:
            write_whole(path, data)
        except OSError as error:
            raise unwritable(error) from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file, for its owner alone, that is there whole or not at all, also after a loss of power.

    Who is killed leaves a file with a name as in `TEMPORARY` beside it. Raises OSError.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, 0o600)
            file.write(data)
            file.flush()
            os.fsync(fd)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_directory(path.parent)


def make_private(directory: Path) -> None:
    """Have a directory, one that is made being for its owner alone, whatever the umask is. Raises OSError."""
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        if not directory.is_dir():
            raise
    else:
        directory.chmod(0o700)


def unwritable(error: OSError) -> SpaceError:
    """For what the system does not let us write."""
    return SpaceError(f"aspHome: state/ cannot be written to ({os.strerror(error.errno or 0)})")


def _taken(path: Path, deadline: float) -> int:
    """The descriptor by which the lock is ours, until it is closed."""
    while True:
        try:
            fd = os.open(path, _LOCK_FLAGS, 0o600)
        except OSError as error:
            raise unwritable(error) from None
        try:
            if _take(fd, path):
                return fd
        except OSError as error:
            os.close(fd)
            raise unwritable(error) from None
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        if time.monotonic() > deadline:
            raise SpaceError("aspHome: another process has been writing for too long; look after it")
        time.sleep(_PAUSE)


def _take(fd: int, path: Path) -> bool:
    """Whether it is ours, and still what others find in its place."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise SpaceError("aspHome: state/lock is no regular file; remove it")
    if stat.S_IMODE(status.st_mode) != 0o600:
        os.fchmod(fd, 0o600)  # whatever the umask is
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(status, path.lstat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
