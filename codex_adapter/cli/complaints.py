"""What a command says besides its records: why nothing was done, and what went wrong, with nothing of a run in it (X1).

Loaded by every command line, also by one that only asks for help: nothing here needs an event loop (V1).
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Final

from codex_adapter.runtime.shortage import is_shortage

__all__ = [
    "FAILURE_STATUS",
    "HelpRequested",
    "UsageError",
    "complain",
    "complain_of_defect",
    "complain_of_output",
    "explain_wait",
]

FAILURE_STATUS: Final = 125
"""The exit status of a command that failed by what is not the agent's (E1)."""


class UsageError(Exception):
    """The command line cannot be understood; the message names the option and what it takes, never a value (E5)."""


class HelpRequested(Exception):
    """Nothing is to be done but to show a text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def complain(text: str) -> None:
    """One line on standard error, where it can be written."""
    # Not by way of `sys.stderr`: what it cannot write it keeps, and turns the exit status of the process into 120.
    with suppress(OSError):
        os.write(2, f"codex-adapter: {text}\n".encode(errors="backslashreplace"))


def explain_wait(text: str) -> None:
    """Write a line on what standard input is to have, where it is a terminal and a person would wonder (C9, C11)."""
    if os.isatty(0):
        complain(f"waiting for {text}. Ctrl-D ends the input")


def complain_of_defect(error: BaseException) -> None:
    """Say where a defect of ours is; its message may quote what it choked on, and stays unsaid (X1)."""
    from traceback import extract_tb  # noqa: PLC0415 - for defects only

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if is_shortage(error):
        of_a_thread = isinstance(error, RuntimeError)
        reason = os.strerror(getattr(error, "errno", errno.EAGAIN if of_a_thread else errno.ENOMEM))
        complain(f"the system has too little left to go on ({reason}); raise its limits, or try again later")
        return
    ours = [frame for frame in extract_tb(error.__traceback__) if "codex_adapter" in frame.filename]
    place = f" at {ours[-1].filename}:{ours[-1].lineno}" if ours else ""
    complain(f"internal error: {type(error).__name__}{place}; please report it")


def complain_of_output(number: int | None) -> None:
    """Say that records were lost, and by which error of the system (E2)."""
    complain(f"standard output cannot be written ({os.strerror(number or 0)}); what was to be there is incomplete")
