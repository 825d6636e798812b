"""Read files that another program may have put in place: never block on them, never read without end (U8, U9, Z7)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["NotRegularError", "TooLargeError", "read_regular"]


class NotRegularError(Exception):
    """Report that the path is not a regular file, or one that is too large."""


class TooLargeError(NotRegularError):
    """Report that a regular file has more bytes than the limit."""


def read_regular(path: Path, most: int) -> bytes:
    """Return the content of a file of at most `most` bytes. Blocks; raises `NotRegularError` and OSError."""
    if not stat.S_ISREG(path.stat().st_mode):  # a device is not even opened
        raise NotRegularError
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotRegularError
        content = file.read(most + 1)
    if len(content) > most:
        raise TooLargeError
    return content
