"""No core file of the command: its memory holds the prompt, the agent's output and the secrets of the environment."""

from __future__ import annotations

import contextlib
import ctypes

__all__ = ["forbid_core_dumps"]

_PR_SET_DUMPABLE = 4


def forbid_core_dumps() -> None:
    """Make this process not dumpable (X9).

    Unlike a limit of its own this also holds where cores go to a program, and it ends with an exec: what the command
    starts is as dumpable as ever.
    """
    with contextlib.suppress(OSError, AttributeError):  # where there is no prctl, there is nothing to be done
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
