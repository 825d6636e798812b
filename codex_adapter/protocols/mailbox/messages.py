"""What a mailbox's files say: the commands of an answer, what came of each, and a session's state (I1, I12)."""

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
"""Of one answer (I5)."""
MOST_COMMANDS: Final = 1000
"""In one answer (I5)."""
ANSWER: Final = "ANSWER"
"""In place of a command's name: an error of an answer as a whole."""


class _Command(msgspec.Struct, frozen=True, kw_only=True):
    name: ClassVar[str]
    line: int
    """Where it begins in its answer, from 1."""


class CreateFile(_Command, frozen=True, kw_only=True, tag=True):
    """Make or overwrite a file; `content` has a newline behind each line of the body."""

    name: ClassVar[str] = "CREATE_FILE"
    path: str
    content: str


class EditFile(_Command, frozen=True, kw_only=True, tag=True):
    """Put `content` in the place of the lines from `start_line` to `end_line`."""

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
    """Run a shell command; it has no newline at its end."""

    name: ClassVar[str] = "RUN_COMMAND"
    command: str


class ShowMessage(_Command, frozen=True, kw_only=True, tag=True):
    """Text for the user, without a newline at its end."""

    name: ClassVar[str] = "MESSAGE"
    text: str


class Done(_Command, frozen=True, kw_only=True, tag=True):
    """The task is complete; `text` is the summary, perhaps empty, without a newline at its end."""

    name: ClassVar[str] = "DONE"
    text: str


class Malformed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A block that is not carried out; `error` says in which line and why (I4)."""

    name: str
    line: int
    error: str


AnswerItem: TypeAlias = CreateFile | EditFile | DeleteFile | ReadFile | RunCommand | ShowMessage | Done | Malformed
"""What an answer asks for, in its order."""


class CommandResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What came of a command: `summary` is one line of text, `output` what a command printed (I9, I10)."""

    command: str
    success: bool
    summary: str
    output: str = ""


class SessionState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A session as its file has it; times are UTC in ISO 8601, to the second (I12)."""

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
        """Show nothing: it may be secret (X1)."""
        return "SessionState(...)"
