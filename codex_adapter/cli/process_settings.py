"""Settings of the command's own process: no core file, and one heap for all of its threads."""

from __future__ import annotations

import contextlib
import ctypes

__all__ = ["forbid_core_dumps", "keep_one_heap"]

_PR_SET_DUMPABLE = 4
_M_ARENA_MAX = -8


def forbid_core_dumps() -> None:
    """Make this process not dumpable: its memory holds the prompt, the agent's output and secrets (X9).

    Unlike a limit of its own this also holds where cores go to a program, and it ends with an exec: what the command
    starts is as dumpable as ever.
    """
    with contextlib.suppress(OSError, AttributeError):  # where there is no prctl, there is nothing to be done
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def keep_one_heap() -> None:
    """Let threads share the heap of the main one: each new one costs megabytes, and they take turns anyway (X5)."""
    with contextlib.suppress(OSError, AttributeError):  # another C library has no such heaps
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
