"""The steps of a scripted agent, as plain data.

Paths are relative to the agent's working directory. Signals are given by name, as `"SIGTERM"`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

__all__ = [
    "CloseStdout",
    "Die",
    "Exit",
    "ExitOnSignal",
    "Fill",
    "Hang",
    "IgnoreSignals",
    "PrintBytes",
    "PrintFile",
    "PrintJson",
    "PrintText",
    "ReadPrompt",
    "Repeat",
    "Sleep",
    "StartDescendant",
    "Step",
    "WaitFor",
    "WriteFacts",
    "WriteFile",
    "WriteStderr",
]


class _Step(msgspec.Struct, frozen=True, tag_field="step", omit_defaults=True, forbid_unknown_fields=True):
    """One thing that the agent does."""


class PrintText(_Step, frozen=True, tag="print_text"):
    """Print a text, and `end` after it."""

    text: str
    end: str = "\n"


class PrintBytes(_Step, frozen=True, tag="print_bytes"):
    """Print bytes as they are."""

    data: bytes


class PrintJson(_Step, frozen=True, tag="print_json"):
    """Print a JSON value on a line of its own, compact."""

    value: Any


class PrintFile(_Step, frozen=True, tag="print_file"):
    """Print a file, a recording for example, with one write for each `piece` bytes of it."""

    path: str
    piece: int | None = None


class Fill(_Step, frozen=True, tag="fill"):
    """Print `size` times the character `char`, between `before` and `after`, in constant memory."""

    size: int
    before: str = ""
    after: str = ""
    char: str = "x"


class Repeat(_Step, frozen=True, tag="repeat"):
    """Print a line `count` times, or for ever; as fast as it is read, or `per_second` times a second."""

    text: str
    count: int | None = None
    per_second: float | None = None


class WriteStderr(_Step, frozen=True, tag="write_stderr"):
    """Write a text to standard error, or the first `size` bytes of the text repeated."""

    text: str = "noise on standard error\n"
    size: int | None = None


class ReadPrompt(_Step, frozen=True, tag="read_prompt"):
    """Read standard input to its end; a `WriteFacts` that follows has it."""


class WriteFacts(_Step, frozen=True, tag="write_facts"):
    """Write what the agent sees to a file, all at once: see `read_facts`."""

    path: str


class WriteFile(_Step, frozen=True, tag="write_file"):
    """Write a text to a file, and make the directories it needs; into a FIFO it waits for the reader."""

    path: str
    text: str = ""


class WaitFor(_Step, frozen=True, tag="wait_for"):
    """Wait until the path exists; when it is a FIFO, also until somebody has opened it for writing and closed it."""

    path: str


class Sleep(_Step, frozen=True, tag="sleep"):
    """Do nothing for that many seconds; for tests of time limits, others synchronise with `WaitFor`."""

    seconds: float


class Hang(_Step, frozen=True, tag="hang"):
    """Do nothing until killed."""


class Exit(_Step, frozen=True, tag="exit"):
    """Exit with this status. An agent whose steps are used up exits with 0."""

    status: int = 0


class Die(_Step, frozen=True, tag="die"):
    """Die of this signal, ignored or not."""

    signal: str = "SIGKILL"


class IgnoreSignals(_Step, frozen=True, tag="ignore_signals"):
    """Ignore these signals from now on."""

    signals: tuple[str, ...]


class ExitOnSignal(_Step, frozen=True, tag="exit_on_signal"):
    """Exit with `status` when `signal` comes, from now on, as the real CLI does for SIGINT."""

    signal: str = "SIGINT"
    status: int = 1


class CloseStdout(_Step, frozen=True, tag="close_stdout"):
    """Close standard output and live on."""


class StartDescendant(_Step, frozen=True, tag="start_descendant"):
    """Start a process that lives until it is killed, ten minutes at most, and write its pid to `pid_file`.

    It is in the agent's process group, or in a `session` of its own. As a `daemon` it is no child of the agent's any
    more. It ignores the signals `ignore`. With `clear_environment` its environment is empty. With `hold_stdout` or
    `hold_stderr` it keeps the agent's pipe open. When the step is over, all this is so.
    """

    pid_file: str
    session: bool = False
    daemon: bool = False
    ignore: tuple[str, ...] = ()
    clear_environment: bool = False
    hold_stdout: bool = False
    hold_stderr: bool = False


Step: TypeAlias = (
    PrintText
    | PrintBytes
    | PrintJson
    | PrintFile
    | Fill
    | Repeat
    | WriteStderr
    | ReadPrompt
    | WriteFacts
    | WriteFile
    | WaitFor
    | Sleep
    | Hang
    | Exit
    | Die
    | IgnoreSignals
    | ExitOnSignal
    | CloseStdout
    | StartDescendant
)
