"""Write errors to standard error, with no content of a run (X1).

Every command line loads this module, also for help alone. Nothing here needs an event loop (V1).
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Final

from codex_adapter.runtime.exhaustion import is_shortage

__all__ = [
    "FAILURE_STATUS",
    "HelpRequested",
    "UsageError",
    "explain_wait",
    "report_defect",
    "report_error",
    "report_output_failure",
    "write_error",
]

_PATIENCE: Final = 1.0
"""Seconds for which a line waits for the reader of standard error."""
_PIECE: Final = 4096
"""Bytes that a writable pipe accepts in one write."""
_lost: Final[list[bool]] = []
"""Contains True after a line could not be written."""

FAILURE_STATUS: Final = 125
"""The exit status of a failure that is not the agent's (E1)."""


class UsageError(Exception):
    """An error of the command line. The message names the option and its valid values, never the value (E5)."""


class HelpRequested(Exception):
    """A request to show a text and do nothing else."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def report_error(text: str) -> None:
    """Write one line to standard error. Give up if the reader reads nothing for a second (E4)."""
    write_error(f"codex-adapter: {text}\n".encode(errors="backslashreplace"), seconds=_PATIENCE)


def write_error(line: bytes, *, seconds: float) -> bool:
    """Write a line to standard error within `seconds`, and return whether all of it was written.

    After the first line that could not be written, later lines do not wait.
    """
    import select  # noqa: PLC0415 - for errors only
    import time  # noqa: PLC0415 - as above

    fd, deadline = 2, time.monotonic() + (0.0 if _lost else seconds)
    with suppress(OSError):
        # A stopped terminal accepts a part of a line. Only a separate descriptor can refuse the rest without blocking.
        fd = os.open(os.ttyname(2), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        # `sys.stderr` would keep what it cannot write, and change the exit status of the process to 120.
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        while line and poll.poll(max(deadline - time.monotonic(), 0.0) * 1000):
            with suppress(BlockingIOError):
                line = line[os.write(fd, line[:_PIECE]) :]
    except OSError:
        return False
    finally:
        if fd != 2:
            os.close(fd)
    if line and seconds:
        _lost.append(True)
    return not line


def explain_wait(text: str) -> None:
    """Write a line that names the expected input, if standard input is a terminal (C9, C11)."""
    if os.isatty(0):
        report_error(f"Waiting for {text}. To end the input, press Ctrl-D.")


def report_defect(error: BaseException) -> None:
    """Report the place of a defect. Its message is not shown, because it can quote content of a run (X1)."""
    from traceback import extract_tb  # noqa: PLC0415 - for defects only

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if is_shortage(error):
        of_a_thread = isinstance(error, RuntimeError)
        reason = os.strerror(getattr(error, "errno", errno.EAGAIN if of_a_thread else errno.ENOMEM))
        report_error(f"The system is out of resources ({reason}). Raise its limits, or try again later.")
        return
    ours = [frame for frame in extract_tb(error.__traceback__) if "codex_adapter" in frame.filename]
    place = f" at {ours[-1].filename}:{ours[-1].lineno}" if ours else ""
    report_error(f"Internal error: {type(error).__name__}{place}. Please report it.")


def report_output_failure(number: int | None) -> None:
    """Report that records were lost, with the error of the system (E2)."""
    reason = os.strerror(number or 0)
    report_error(f"Standard output cannot be written ({reason}). The output is incomplete.")
