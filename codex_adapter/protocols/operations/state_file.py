"""The file of a state: for one runtime at a time, readable by its owner alone, and in our words when it fails (O9)."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["StateError", "in_our_words", "locked"]


class StateError(Exception):
    """The state cannot be read or written; the text says what to do and names no path."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Have a file, which is made when it is missing, for ourselves. Raises `StateError`.

    SQLite's own locks are of another kind, which end when any descriptor of the file is closed: this one stays open for
    longer than the database.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (OSError, ValueError):
        raise StateError("the state's file cannot be made or written to; give another one") from None
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StateError("another runtime has this state; wait for its end, or give another file") from None
        yield
    finally:
        os.close(fd)


@contextmanager
def in_our_words() -> Iterator[None]:
    """What SQLite raises, as a `StateError`."""
    try:
        yield
    except sqlite3.OperationalError:
        raise StateError("the state cannot be read or written; look at its disk and its permissions") from None
    except sqlite3.DatabaseError:
        raise StateError("the state's file is no state of ours, or damaged; give another one") from None
