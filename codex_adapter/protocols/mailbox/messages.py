"""Define the commands of an answer, their results, and the state of a session (I1, I12)."""

from __future__ import annotations

from typing import ClassVar, Final, TypeAlias

import msgspec
from typing_extensions import override

__all__ = [
    "ANSWER",
    "MOST_ANSWER_BYTES",
    "MOST_COMMANDS",
    "PROTOCOL_VERSION",
    "AnswerItem",
    "CommandResult",
    "CreateFile",
    "DeleteFile",
    "Done",
    "EditFile",
    "Malformed",
    "ReadFile",
    "RunCommand",
    "SessionState",
    "ShowMessage",
]

PROTOCOL_VERSION: Final = "1.0"
MOST_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""The size limit of an answer (I5)."""
MOST_COMMANDS: Final = 1000
"""The limit of commands in an answer (I5)."""
ANSWER: Final = "ANSWER"
"""The name in the result of an error of the whole answer."""


class _Command(msgspec.Struct, frozen=True, kw_only=True):
    name: ClassVar[str]
    line: int
    """The line of the answer on which it begins, from 1."""


class CreateFile(_Command, frozen=True, kw_only=True, tag=True):
    """Create or overwrite a file; `content` has a newline after each line of the body."""

    name: ClassVar[str] = "CREATE_FILE"
    path: str
    content: str


class EditFile(_Command, frozen=True, kw_only=True, tag=True):
    """Replace lines `start_line` to `end_line` with `content`."""

    name: ClassVar[str] = "EDIT_FILE"
    path: str
    start_line: int
    end_line: int
    content: str


class DeleteFile(_Command, frozen=True, kw_only=True, tag=True):
    """Remove a file."""

    name: ClassVar[str] = "DELETE_FILE"
    path: str


class ReadFile(_Command, frozen=True, kw_only=True, tag=True):
    """Show a file in the next outbox."""

    name: ClassVar[str] = "READ_FILE"
    path: str


class RunCommand(_Command, frozen=True, kw_only=True, tag=True):
    """Run a shell command. `command` does not end with a newline."""

    name: ClassVar[str] = "RUN_COMMAND"
    command: str


class ShowMessage(_Command, frozen=True, kw_only=True, tag=True):
    """Show a text to the user. `text` does not end with a newline."""

    name: ClassVar[str] = "MESSAGE"
    text: str


class Done(_Command, frozen=True, kw_only=True, tag=True):
    """Complete the task. `text` is the summary; it may be empty, and does not end with a newline."""

    name: ClassVar[str] = "DONE"
    text: str


class Malformed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A block that is not executed. `error` has the line and the reason (I4)."""

    name: str
    line: int
    error: str


AnswerItem: TypeAlias = CreateFile | EditFile | DeleteFile | ReadFile | RunCommand | ShowMessage | Done | Malformed
"""An item of an answer: a command, or a block that cannot be read as one."""


class CommandResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The result of a command. `summary` is one line of text, and `output` is that of a shell command (I9, I10)."""

    command: str
    success: bool
    summary: str
    output: str = ""


class SessionState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of a session, as in its file. Times are UTC in ISO 8601, to the second (I12)."""

    session_id: str
    task: str
    sequence_number: int
    is_complete: bool
    created_at: str
    updated_at: str
    last_results: tuple[CommandResult, ...] = ()
    read_file_requests: tuple[str, ...] = ()

    @override
    def __repr__(self) -> str:
        """Return no content, which may be secret (X1)."""
        return "SessionState(...)"
