"""The directory of state below `aspHome`: for one writer at a time, and whole whenever somebody looks (Z9)."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codex_adapter.protocols.turns.spaces.errors import SpaceError

__all__ = ["State", "unwritable"]

_PATIENCE: Final = 120.0
"""Seconds to wait for other writers, which copy no more than a few spaces."""
_PAUSE: Final = 0.02


class State:
    """The paths in it; nothing is made before something is written."""

    def __init__(self, asp_home: Path) -> None:
        self.root: Final = asp_home / "state"
        self.store: Final = self.root / "store"
        self.locks: Final = self.root / "locks"

    @contextmanager
    def for_ourselves(self, *, patience: float = _PATIENCE) -> Iterator[None]:
        """Be the only writer; waits up to so many seconds. Raises `SpaceError`."""
        try:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            for directory in (self.root, self.store, self.locks):
                _make(directory)
            fd = os.open(
                self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise unwritable(error) from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise SpaceError("aspHome: state/lock is no regular file; remove it")
            _take(fd, patience)
            yield
        finally:
            os.close(fd)

    def write_whole(self, path: Path, data: bytes) -> None:
        """Write a file that is there whole or not at all, also after a loss of power. Raises `SpaceError`.

        Only for who is the only writer: the temporary file has the same name always, so that none is left for good.
        """
        temporary = path.with_name(f"{path.name}.tmp")
        try:
            with suppress(FileNotFoundError):
                temporary.unlink()
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(fd)
            temporary.replace(path)
            _sync_directory(path.parent)
        except OSError as error:
            raise unwritable(error) from None


def unwritable(error: OSError) -> SpaceError:
    """For what the system does not let us write."""
    return SpaceError(f"aspHome: state/ cannot be written to ({os.strerror(error.errno or 0)})")


def _make(directory: Path) -> None:
    """What spaces hold may be secret, and a link in a directory from others may lead anywhere."""
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.is_symlink():
        raise SpaceError("aspHome: state/, or a directory in it, is a link; put a directory there")


def _take(fd: int, patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise SpaceError("aspHome: another process has been writing for too long; look after it") from None
            time.sleep(_PAUSE)
        except OSError as error:
            raise unwritable(error) from None
        else:
            return


def _sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
