"""Recognize temporary shortages of the system, which do not mean that an operation is unsupported (N1, S6)."""

from __future__ import annotations

import errno
import os
from typing import Final

__all__ = ["is_shortage", "parse_shortage"]

_SHORTAGES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})


def is_shortage(error: BaseException) -> bool:
    """Return whether the system refused a descriptor, memory, a process or a thread."""
    # Python has no exception type of its own for a refused thread.
    no_thread = isinstance(error, RuntimeError) and error.args == ("can't start new thread",)
    return no_thread or isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SHORTAGES)


def parse_shortage(message: bytes) -> OSError | None:
    """Return the shortage that a program names in its English error message."""
    numbers = (number for number in sorted(_SHORTAGES) if os.strerror(number).encode() in message)
    return next((OSError(number, os.strerror(number)) for number in numbers), None)
