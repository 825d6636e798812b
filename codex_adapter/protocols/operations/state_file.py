"""The file of a state: for one runtime at a time, readable by its owner alone, and in our words when it fails (O9)."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codex_adapter.durable import open_locked

__all__ = ["NO_STATE", "StateError", "in_our_words", "locked", "require_in_place"]

NO_STATE: Final = "the state's file is no state of ours, or damaged; give another one"


class StateError(Exception):
    """The state cannot be read or written; the text says what to do and names no path."""


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Have a file for ourselves, and its descriptor; it and its directories are made (C22).

    Raises `StateError`.

    SQLite's own locks are of another kind, which end when any descriptor of the file is closed: this one stays open for
    longer than the database.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = open_locked(Path(os.path.realpath(path)))
    except BlockingIOError:
        raise StateError("another runtime has this state; wait for its end, or give another file") from None
    except (OSError, ValueError):
        raise StateError("the state's file cannot be made or written to; give another one") from None
    try:
        status = os.fstat(fd)
        if stat.S_ISREG(status.st_mode) and not status.st_size:
            # Whoever made it, with whatever umask: what will be in it is for its owner alone.
            try:
                os.fchmod(fd, 0o600)
            except OSError:
                raise StateError("the state's file belongs to another user; give another one") from None
        yield fd
    finally:
        os.close(fd)


def require_in_place(path: Path, fd: int) -> None:
    """See that a file is still the one that was opened: what goes into any other is lost. Raises `StateError`."""
    with suppress(OSError):
        if os.path.samestat(path.stat(), os.fstat(fd)):
            return
    raise StateError("the state's file was moved, removed or replaced; nothing more is carried out without it")


@contextmanager
def in_our_words() -> Iterator[None]:
    """What SQLite raises, as a `StateError`."""
    try:
        yield
    except sqlite3.OperationalError:
        raise StateError("the state cannot be read or written; look at its disk and its permissions") from None
    except sqlite3.DatabaseError:
        raise StateError(NO_STATE) from None
