"""The directory of state below `aspHome`: for one writer at a time, and whole whenever somebody looks (Z9)."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from codex_adapter.durable import TEMPORARY_SUFFIX, open_locked, write_whole
from codex_adapter.spaces.errors import SpaceError

__all__ = ["TEMPORARY", "State", "make_private", "unwritable"]

_PATIENCE: Final = 120.0
"""Seconds to wait for other writers, which copy no more than a few spaces."""
_PAUSE: Final = 0.02
TEMPORARY: Final = re.compile(f".+{re.escape(TEMPORARY_SUFFIX)}")
"""The names of files that a killed writer has not finished."""


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
        """Write a file in here, for its owner alone, whole or not at all, also after a loss of power.

        Raise `SpaceError`. (Z9)
        """
        try:
            write_whole(path, data)
        except OSError as error:
            raise unwritable(error) from None


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
            fd = _locked(path)
        except OSError as error:
            raise unwritable(error) from None
        if fd is not None:
            return fd
        if time.monotonic() > deadline:
            raise SpaceError("aspHome: another process has been writing for too long; look after it")
        time.sleep(_PAUSE)


def _locked(path: Path) -> int | None:
    """The descriptor of the lock; None where another process has it, or has just put another file in its place."""
    try:
        fd = open_locked(path)
    except BlockingIOError:
        return None
    with ExitStack() as undo:
        undo.callback(os.close, fd)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise SpaceError("aspHome: state/lock is no regular file; remove it")
        os.fchmod(fd, 0o600)  # whatever the umask is
        with suppress(FileNotFoundError):
            if os.path.samestat(status, path.lstat()):
                undo.pop_all()
                return fd
    return None
