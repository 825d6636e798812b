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


class _Answer(_Event, frozen=True, kw_only=True):
    """The event of an operation, which may have an id. In JSON, null is the same as no id."""

    operation_id: str | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        if self.operation_id is None:
            msgspec.structs.force_setattr(self, "operation_id", UNSET)


class _FileEvent(_Answer, frozen=True, kw_only=True):
    """The event of an operation on a file. `error` is the reason of a failure."""

    path: str
    success: bool
    error: str | UnsetType = UNSET


class UserMessageEvent(_Event, frozen=True, kw_only=True, tag="userMessage"):
    """A message of the user."""

    content: str


class MessageEvent(_Answer, frozen=True, kw_only=True, tag="message"):
    """A message was shown, which cannot fail."""

    success: bool = True


class CreateFileEvent(_FileEvent, frozen=True, kw_only=True, tag="createFile"):
    """A file was written, or not."""

    bytes_written: Count | UnsetType = UNSET


class ReadFileEvent(_FileEvent, frozen=True, kw_only=True, tag="readFile"):
    """A file's content, and its size in bytes."""

    encoding: Encoding | UnsetType = UNSET
    size: Count | UnsetType = UNSET
    content: Text | UnsetType = UNSET


class EditFileEvent(_FileEvent, frozen=True, kw_only=True, tag="editFile"):
    """A file was edited, or not."""

    edits_applied: Count | UnsetType = UNSET


class DeleteFileEvent(_FileEvent, frozen=True, kw_only=True, tag="deleteFile"):
    """A file was removed, or not."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """The number of bytes of a command's output that are not in its event."""

    stdout: Count | UnsetType = UNSET
    stderr: Count | UnsetType = UNSET


class ShellEvent(_Answer, frozen=True, kw_only=True, tag="shell"):
    """A command ran, or could not start. `error` is a failure of the system, not of the command."""

    command: str
    success: bool
    exit_code: int | UnsetType = UNSET
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    left_out: LeftOut | UnsetType = UNSET
    duration_ms: Count | UnsetType = UNSET
    error: str | UnsetType = UNSET
    timed_out: bool | UnsetType = UNSET
    sandbox: Literal["bubblewrap", "none"] | UnsetType = UNSET


class ApprovalDetails(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of an approval, and the policy that requires it."""

    command: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    policy: str | UnsetType = UNSET


class ApprovalRequiredEvent(_Event, frozen=True, kw_only=True, tag="approvalRequired"):
    """An operation waits for a decision."""

    operation_id: str
    operation_type: OperationType
    reason: str
    details: ApprovalDetails


class PolicyDeniedEvent(_Answer, frozen=True, kw_only=True, tag="policyDenied"):
    """An operation was not executed, because a policy or a person forbids it."""

    operation_type: OperationType
    reason: str
    suggestion: str | UnsetType = UNSET


class ErrorEvent(_Answer, frozen=True, kw_only=True, tag="error"):
    """An invalid operation, or a failure of the machine."""

    category: Category
    message: str
    details: dict[str, Any] | UnsetType = UNSET


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
