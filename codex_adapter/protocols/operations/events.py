"""Define the events of operations, in the names of the wire (O4)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from codex_adapter.protocols.operations.operations import OperationType
from codex_adapter.protocols.operations.text_pieces import Encoding, Text

__all__ = [
    "ApprovalDetails",
    "ApprovalRequiredEvent",
    "Category",
    "CreateFileEvent",
    "DeleteFileEvent",
    "EditFileEvent",
    "ErrorEvent",
    "LeftOut",
    "MessageEvent",
    "OperationEvent",
    "PolicyDeniedEvent",
    "ReadFileEvent",
    "ShellEvent",
    "UserMessageEvent",
]

Category = Literal["validation", "policy", "execution", "timeout", "system"]
"""The category of an error."""

Count = Annotated[int, Meta(ge=0)]
Timestamp = Annotated[str, Meta(description="UTC, ISO 8601, as 2025-01-15T10:30:00.000Z")]


class _Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """The members of all events."""

    timestamp: Timestamp
    """The time, UTC in ISO 8601, for example `2025-01-15T10:30:00.000Z`."""


class _Answer(_Event, frozen=True, kw_only=True):
    """The event of an operation, which may have an id. In JSON, null is the same as no id."""

    operation_id: str | UnsetType | None = UNSET
    """The `id` of the operation, if it has one."""

    def __post_init__(self) -> None:
        if self.operation_id is None:
            msgspec.structs.force_setattr(self, "operation_id", UNSET)


class _FileEvent(_Answer, frozen=True, kw_only=True):
    """The event of an operation on a file. `error` is the reason of a failure."""

    path: str
    """The `path` of the operation."""
    success: bool
    """Whether the operation succeeded."""
    error: str | UnsetType = UNSET
    """Why it failed."""


class UserMessageEvent(_Event, frozen=True, kw_only=True, tag="userMessage"):
    """A message of the user."""

    content: str
    """The text of the message."""


class MessageEvent(_Answer, frozen=True, kw_only=True, tag="message"):
    """A message was shown, which cannot fail."""

    success: bool = True
    """True: a message cannot fail."""


class CreateFileEvent(_FileEvent, frozen=True, kw_only=True, tag="createFile"):
    """A file was written, or not."""

    bytes_written: Count | UnsetType = UNSET
    """The size of the file, in bytes."""


class ReadFileEvent(_FileEvent, frozen=True, kw_only=True, tag="readFile"):
    """A file's content, and its size in bytes."""

    encoding: Encoding | UnsetType = UNSET
    """The encoding of `content`."""
    size: Count | UnsetType = UNSET
    """The size of the file, in bytes."""
    content: Text | UnsetType = UNSET
    """The content of the file."""


class EditFileEvent(_FileEvent, frozen=True, kw_only=True, tag="editFile"):
    """A file was edited, or not."""

    edits_applied: Count | UnsetType = UNSET
    """The number of edits."""


class DeleteFileEvent(_FileEvent, frozen=True, kw_only=True, tag="deleteFile"):
    """A file was removed, or not."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """The number of bytes of a command's output that are not in its event."""

    stdout: Count | UnsetType = UNSET
    """Bytes of standard output."""
    stderr: Count | UnsetType = UNSET
    """Bytes of standard error."""


class ShellEvent(_Answer, frozen=True, kw_only=True, tag="shell"):
    """A command ran, or could not start. `error` is a failure of the system, not of the command."""

    command: str
    """The `command` of the operation."""
    success: bool
    """Whether the command exited with 0."""
    exit_code: int | UnsetType = UNSET
    """The exit status of the command."""
    stdout: str | UnsetType = UNSET
    """The standard output, with replacement characters for invalid UTF-8."""
    stderr: str | UnsetType = UNSET
    """The standard error, with replacement characters for invalid UTF-8."""
    left_out: LeftOut | UnsetType = UNSET
    """How much of the output is missing, if it was too long."""
    duration_ms: Count | UnsetType = UNSET
    """The duration, in milliseconds."""
    error: str | UnsetType = UNSET
    """Why the command could not be run."""
    timed_out: bool | UnsetType = UNSET
    """True if the command exceeded its `timeout` and was killed."""
    sandbox: Literal["bubblewrap", "none"] | UnsetType = UNSET
    """The sandbox in which the command ran."""


class ApprovalDetails(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of an approval, and the policy that requires it."""

    command: str | UnsetType = UNSET
    """The command to approve."""
    path: str | UnsetType = UNSET
    """The file to approve."""
    policy: str | UnsetType = UNSET
    """The rule of the policy that requires the approval."""


class ApprovalRequiredEvent(_Event, frozen=True, kw_only=True, tag="approvalRequired"):
    """An operation waits for a decision."""

    operation_id: str
    """The id with which the decision names the operation."""
    operation_type: OperationType
    """The `type` of the operation."""
    reason: str
    """Why a decision is needed, for a person."""
    details: ApprovalDetails
    """The subject of the approval."""


class PolicyDeniedEvent(_Answer, frozen=True, kw_only=True, tag="policyDenied"):
    """An operation was not executed, because a policy or a person forbids it."""

    operation_type: OperationType
    """The `type` of the operation."""
    reason: str
    """Why it is forbidden, for a person."""
    suggestion: str | UnsetType = UNSET
    """What to do instead."""


class ErrorEvent(_Answer, frozen=True, kw_only=True, tag="error"):
    """An invalid operation, or a failure of the machine."""

    category: Category
    """The kind of the error."""
    message: str
    """The reason, for a person."""
    details: dict[str, Any] | UnsetType = UNSET
    """Further facts, for a program."""


OperationEvent: TypeAlias = (
    UserMessageEvent
    | MessageEvent
    | CreateFileEvent
    | ReadFileEvent
    | EditFileEvent
    | DeleteFileEvent
    | ShellEvent
    | ApprovalRequiredEvent
    | PolicyDeniedEvent
    | ErrorEvent
)
