"""Define the steps of a scripted agent, as plain data.

Paths are relative to the agent's working directory. A signal is its name, such as `"SIGTERM"`.
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
    """One action of the agent."""


class PrintText(_Step, frozen=True, tag="print_text"):
    """A print of a text, followed by `end`."""

    text: str
    end: str = "\n"


class PrintBytes(_Step, frozen=True, tag="print_bytes"):
    """A print of unchanged bytes."""

    data: bytes


class PrintJson(_Step, frozen=True, tag="print_json"):
    """A print of a JSON value, compact, on one line."""

    value: Any


class PrintFile(_Step, frozen=True, tag="print_file"):
    """A print of a file, for example a recording, with one write for each `piece` bytes."""

    path: str
    piece: int | None = None


class Fill(_Step, frozen=True, tag="fill"):
    """A print of `size` times the character `char`, between `before` and `after`, in constant memory."""

    size: int
    before: str = ""
    after: str = ""
    char: str = "x"


class Repeat(_Step, frozen=True, tag="repeat"):
    """A print of a line, `count` times or forever, at the reader's pace or `per_second` times a second."""

    text: str
    count: int | None = None
    per_second: float | None = None


class WriteStderr(_Step, frozen=True, tag="write_stderr"):
    """A write of a text to standard error, or of the first `size` bytes of the repeated text."""

    text: str = "noise on standard error\n"
    size: int | None = None


class ReadPrompt(_Step, frozen=True, tag="read_prompt"):
    """A read of standard input to its end. A later `WriteFacts` includes the prompt."""


class WriteFacts(_Step, frozen=True, tag="write_facts"):
    """An atomic write of the agent's observations to a file, for `read_facts`."""

    path: str


class WriteFile(_Step, frozen=True, tag="write_file"):
    """A write of a text to a file, which creates missing directories. A write to a FIFO waits for the reader."""

    path: str
    text: str = ""


class WaitFor(_Step, frozen=True, tag="wait_for"):
    """A wait until the path exists and, if it is a FIFO, until a writer has opened and closed it."""

    path: str


class Sleep(_Step, frozen=True, tag="sleep"):
    """A wait of some seconds, for tests of time limits. Other tests synchronise with `WaitFor`."""

    seconds: float


class Hang(_Step, frozen=True, tag="hang"):
    """A wait until the agent is killed."""


class Exit(_Step, frozen=True, tag="exit"):
    """An exit with this status. Without this step, the agent exits with 0 after its last step."""

    status: int = 0


class Die(_Step, frozen=True, tag="die"):
    """A death of this signal, even if the agent ignores it."""

    signal: str = "SIGKILL"


class IgnoreSignals(_Step, frozen=True, tag="ignore_signals"):
    """A change of the agent: from now on, it ignores these signals."""

    signals: tuple[str, ...]


class ExitOnSignal(_Step, frozen=True, tag="exit_on_signal"):
    """A change of the agent: from now on, it exits with `status` on `signal`, as the real CLI does on SIGINT."""

    signal: str = "SIGINT"
    status: int = 1


class CloseStdout(_Step, frozen=True, tag="close_stdout"):
    """A close of standard output. The agent continues to run."""


class StartDescendant(_Step, frozen=True, tag="start_descendant"):
    """A start of a process that lives until it is killed, at most ten minutes. Its pid is written to `pid_file`.

    The process is in the agent's process group, or with `session` in a new session. A `daemon` is not a child of the
    agent. The process ignores the signals `ignore`. With `clear_environment`, its environment is empty. With
    `hold_stdout` or `hold_stderr`, it keeps the agent's pipe open. All this is true when the step ends.
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
