"""Read files that another program may have replaced, without blocking and up to a limit (U8, U9, Z7)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["NotRegularError", "TooLargeError", "read_regular"]


class NotRegularError(Exception):
    """The path is not a regular file, or the file is too large."""


class TooLargeError(NotRegularError):
    """The regular file has more bytes than the limit."""


def read_regular(path: Path, most: int) -> bytes:
    """Return the content of a file of at most `most` bytes. Block. Raise `NotRegularError` or OSError."""
    if not stat.S_ISREG(path.stat().st_mode):  # opening a device could have effects
        raise NotRegularError
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotRegularError
        content = file.read(most + 1)
    if len(content) > most:
        raise TooLargeError
    return content
