"""What a command says besides its records: why nothing was done, and what went wrong, with nothing of a run in it (X1).

Loaded by every command line, also by one that only asks for help: nothing here needs an event loop (V1).
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
"""Seconds that a line waits for the reader of standard error."""
_PIECE: Final = 4096
"""Bytes that a pipe which can be written to takes at once."""
_lost: Final[list[bool]] = []
"""Not empty once a line could not be written."""

FAILURE_STATUS: Final = 125
"""The exit status of a command that failed by what is not the agent's (E1)."""


class UsageError(Exception):
    """The command line cannot be understood; the message names the option and what it takes, never a value (E5)."""


class HelpRequested(Exception):
    """Nothing is to be done but to show a text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def report_error(text: str) -> None:
    """Write one line to standard error, unless its reader takes nothing for a second (E4)."""
    write_error(f"codex-adapter: {text}\n".encode(errors="backslashreplace"), seconds=_PATIENCE)


def write_error(line: bytes, *, seconds: float) -> bool:
    """Write a line to standard error, waiting at most `seconds` for its reader, and return whether all was written.

    Once a line was not, the next ones wait no more.
    """
    import select  # noqa: PLC0415 - for what goes wrong only
    import time  # noqa: PLC0415 - as above

    fd, deadline = 2, time.monotonic() + (0.0 if _lost else seconds)
    with suppress(OSError):
        # A terminal that is stopped has room for a part of a line: only a descriptor of our own may refuse the rest.
        fd = os.open(os.ttyname(2), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        # Not by way of `sys.stderr`: what it cannot write it keeps, and turns the exit status of the process into 120.
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
    """Write a line on what standard input is to have, where it is a terminal and a person would wonder (C9, C11)."""
    if os.isatty(0):
        report_error(f"waiting for {text}. Ctrl-D ends the input")


def report_defect(error: BaseException) -> None:
    """Say where a defect of ours is; its message may quote what it choked on, and stays unsaid (X1)."""
    from traceback import extract_tb  # noqa: PLC0415 - for defects only

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if is_shortage(error):
        of_a_thread = isinstance(error, RuntimeError)
        reason = os.strerror(getattr(error, "errno", errno.EAGAIN if of_a_thread else errno.ENOMEM))
        report_error(f"the system has too little left to go on ({reason}); raise its limits, or try again later")
        return
    ours = [frame for frame in extract_tb(error.__traceback__) if "codex_adapter" in frame.filename]
    place = f" at {ours[-1].filename}:{ours[-1].lineno}" if ours else ""
    report_error(f"internal error: {type(error).__name__}{place}; please report it")


def report_output_failure(number: int | None) -> None:
    """Say that records were lost, and by which error of the system (E2)."""
    report_error(f"standard output cannot be written ({os.strerror(number or 0)}); what was to be there is incomplete")
