"""Lock the file of a state for one runtime, restrict it to its owner, and convert its errors (O9)."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codex_adapter.durable import open_locked
from codex_adapter.own_directories import make_private

__all__ = ["NO_STATE", "StateError", "as_state_errors", "locked", "require_in_place"]

NO_STATE: Final = "the file is not a state of codex-adapter, or is damaged. Name another file"


class StateError(Exception):
    """The state cannot be read or written. The text has the next step and no path."""


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Lock a file and yield its descriptor; create it and its directories if they do not exist.

    SQLite's own locks end when any descriptor of the file is closed, so this one stays open longer than the database.
    Raises `StateError` (C22).
    """
    try:
        make_private(path.parent)
        fd = open_locked(Path(os.path.realpath(path)))
    except BlockingIOError:
        raise StateError("another runtime uses this state. Wait until it ends, or name another file") from None
    except (OSError, ValueError):
        raise StateError("the state file cannot be created or written. Name another file") from None
    try:
        status = os.fstat(fd)
        if stat.S_ISREG(status.st_mode) and not status.st_size:
            # Only the owner may read the state, whatever the umask was when the file was created.
            try:
                os.fchmod(fd, 0o600)
            except OSError:
                raise StateError("the state file belongs to another user. Name another file") from None
        yield fd
    finally:
        os.close(fd)


def require_in_place(path: Path, fd: int) -> None:
    """Raise `StateError` if the path is not the opened file any more: writes to another file would be lost."""
    with suppress(OSError):
        if os.path.samestat(path.stat(), os.fstat(fd)):
            return
    raise StateError(
        "the state file was moved, removed or replaced, so nothing more is executed. Restore it and start again"
    )


@contextmanager
def as_state_errors() -> Iterator[None]:
    """Convert the errors of SQLite to `StateError`."""
    try:
        yield
    except sqlite3.OperationalError:
        raise StateError("the state cannot be read or written. Check its disk and its permissions") from None
    except sqlite3.DatabaseError:
        raise StateError(NO_STATE) from None
