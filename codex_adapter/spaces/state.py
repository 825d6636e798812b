"""Write the state below `aspHome`, with one writer at a time, so that readers see whole files (Z9)."""

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
from codex_adapter.own_directories import make_private
from codex_adapter.spaces.errors import SpaceError

__all__ = ["TEMPORARY", "State", "unwritable"]

_PATIENCE: Final = 120.0
"""Seconds to wait for other writers. Each of them copies a few spaces at most."""
_PAUSE: Final = 0.02
TEMPORARY: Final = re.compile(f".+{re.escape(TEMPORARY_SUFFIX)}")
"""The names of files that a killed writer did not finish."""


class State:
    """The paths of the state of one `aspHome`. The first write creates the directories."""

    def __init__(self, asp_home: Path) -> None:
        self.root: Final = asp_home / "state"
        self.store: Final = self.root / "store"
        self.locks: Final = self.root / "locks"

    def refuse_links(self) -> None:
        """Raise `SpaceError` if one of the directories is a link, which may lead anywhere (Z9)."""
        if any(directory.is_symlink() for directory in (self.root, self.store, self.locks)):
            raise SpaceError("aspHome: state/, or a directory in it, is a link. Replace it by a directory.")

    @contextmanager
    def exclusive(self, *, patience: float = _PATIENCE) -> Iterator[None]:
        """Lock the state for one writer. Wait at most `patience` seconds for other writers. Raises `SpaceError`."""
        self.refuse_links()
        try:
            for directory in (self.root, self.store, self.locks):
                make_private(directory)
        except OSError as error:
            raise unwritable(error) from None
        fd = _lock(self.root / "lock", time.monotonic() + patience)
        try:
            yield
        finally:
            os.close(fd)

    def write_whole(self, path: Path, data: bytes) -> None:
        """Write a file of the state atomically, also for a loss of power. Only its owner has access.

        Raises `SpaceError` (Z9).
        """
        try:
            write_whole(path, data)
        except OSError as error:
            raise unwritable(error) from None


def unwritable(error: OSError) -> SpaceError:
    """Return the error for a failed write."""
    return SpaceError(
        f"aspHome: state/ cannot be written to ({os.strerror(error.errno or 0)}). Check its permissions and its disk."
    )


def _lock(path: Path, deadline: float) -> int:
    """Wait for the lock. Return the descriptor that has the lock until it is closed."""
    while True:
        try:
            fd = _try_lock(path)
        except OSError as error:
            raise unwritable(error) from None
        if fd is not None:
            return fd
        if time.monotonic() > deadline:
            raise SpaceError("aspHome: another process has been writing for too long. Check that process.")
        time.sleep(_PAUSE)


def _try_lock(path: Path) -> int | None:
    """Return the descriptor of the lock; None if another process has the lock or has just replaced its file."""
    try:
        fd = open_locked(path)
    except BlockingIOError:
        return None
    with ExitStack() as undo:
        undo.callback(os.close, fd)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise SpaceError("aspHome: state/lock is not a regular file. Remove it.")
        os.fchmod(fd, 0o600)  # the umask may have removed bits
        with suppress(FileNotFoundError):
            if os.path.samestat(status, path.lstat()):
                undo.pop_all()
                return fd
    return None
