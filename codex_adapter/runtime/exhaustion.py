"""What passes: the system had too little left at that moment, which says nothing about what it can do (S6, N1)."""

from __future__ import annotations

import errno
import os
from typing import Final

__all__ = ["is_shortage", "parse_shortage"]

_SHORTAGES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})


def is_shortage(error: BaseException) -> bool:
    """Return whether the system refused a descriptor, memory, a process or a thread."""
    # Python gives the refusal of a thread no type of its own.
    no_thread = isinstance(error, RuntimeError) and error.args == ("can't start new thread",)
    return no_thread or isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SHORTAGES)


def parse_shortage(message: bytes) -> OSError | None:
    """Return the shortage that a program names, in English, in what it says of its failure."""
    numbers = (number for number in sorted(_SHORTAGES) if os.strerror(number).encode() in message)
    return next((OSError(number, os.strerror(number)) for number in numbers), None)
