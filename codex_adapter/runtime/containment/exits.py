"""Wait for the exit of a child process, with a pidfd if one is available (N1)."""

from __future__ import annotations

import os
from typing import Final

import trio

__all__ = ["open_pidfd", "wait_for_exit", "why_no_pidfd"]

_PAUSE: Final = 0.005
"""The seconds between two checks of a child without a pidfd."""


def open_pidfd(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process exits; None if pidfds are not available."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def why_no_pidfd() -> str | None:
    """Return why this process cannot have pidfds; None if it can."""
    if not hasattr(os, "pidfd_open"):
        return "this Python was built without them"
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return f"the kernel or a seccomp filter refuses them: {os.strerror(error.errno or 0)}"
    return None


async def wait_for_exit(pid: int, pidfd: int | None) -> os.waitid_result:
    """Wait until a child has exited, and do not reap it. Raise ChildProcessError if other code reaped it."""
    if pidfd is not None:
        await trio.lowlevel.wait_readable(pidfd)
    options = os.WEXITED | os.WNOWAIT | os.WNOHANG
    while (result := os.waitid(os.P_PID, pid, options)) is None:  # noqa: ASYNC110, ASYNC222 - no event, no block
        await trio.sleep(_PAUSE)
    return result
