"""What passes: the system had too little left at that moment, which says nothing about what it can do (S6, N1)."""

from __future__ import annotations

import errno
from typing import Final

__all__ = ["is_shortage"]

_SHORTAGES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})


def is_shortage(error: BaseException) -> bool:
    """Whether this is the system's refusal of a descriptor, of memory, or of a process."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SHORTAGES)
