"""The types of the protocol: its messages, and beside them its operations and events (O1, O2, O4, O5)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from codex_adapter.protocols.operations.events import (
    ApprovalDetails,
    ApprovalRequiredEvent,
    Category,
    CreateFileEvent,
    DeleteFileEvent,
    EditFileEvent,
    ErrorEvent,
    LeftOut,
    MessageEvent,
    OperationEvent,
    PolicyDeniedEvent,
    ReadFileEvent,
    ShellEvent,
    UserMessageEvent,
)
from codex_adapter.protocols.operations.operations import (
    MOST_FILE_BYTES,
    CreateFileOperation,
    DeleteFileOperation,
    EditFileOperation,
    FileEdit,
    MessageOperation,
    Operation,
    OperationType,
    ReadFileOperation,
    ShellOperation,
)
from codex_adapter.protocols.operations.text_pieces import Encoding, Text

__all__ = [
    "MOST_FILE_BYTES",
    "PROTOCOL_VERSION",
    "Approval",
    "ApprovalDetails",
    "ApprovalRequiredEvent",
    "Category",
    "CreateFileEvent",
    "CreateFileOperation",
    "Decision",
    "DeleteFileEvent",
    "DeleteFileOperation",
    "EditFileEvent",
    "EditFileOperation",
    "Encoding",
    "ErrorEvent",
    "EventsMessage",
    "FileEdit",
    "LeftOut",
    "MessageEvent",
    "MessageOperation",
    "Operation",
    "OperationEvent",
    "OperationType",
    "OperationsMessage",
    "PolicyDeniedEvent",
    "ReadFileEvent",
    "ReadFileOperation",
    "ShellEvent",
    "ShellOperation",
    "Status",
    "Text",
    "UserMessage",
    "UserMessageEvent",
]

PROTOCOL_VERSION: Final = "1.0"

Decision = Literal["approved", "denied"]
"""What a person said of an operation that waits."""

Status = Literal["completed", "awaiting_approval", "error"]
"""How far the operations of a message came: through, to one that waits, or to a failure of the machine."""

_DECISIONS: Final[dict[str, Decision]] = {"approved": "approved", "denied": "denied"}


class OperationsMessage(msgspec.Struct, frozen=True):
    """What an agent wants done: the JSON of each operation, which nobody has looked into."""

    operations: tuple[Raw, ...]


class Approval(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A decision on an operation that waits; with `run_id` on the one of that run (O5)."""

    operation_id: Annotated[str, Meta(description="a string, the operationId that approvalRequired names")]
    decision: Annotated[Decision, Meta(description='"approved" or "denied"')]
    reason: Annotated[str, Meta(description="a string")] | UnsetType = UNSET
    run_id: Annotated[str, Meta(description="a string, the runId of the message that asked")] | UnsetType = UNSET


class UserMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Words of the user (O5)."""

    content: Annotated[str, Meta(description="a string")]

    @property
    def decision(self) -> Decision | None:
        """The decision that the words are: one word alone, in any case; None when they are anything else."""
        return _DECISIONS.get(self.content.strip(" \t\r\n").lower() if self.content.isascii() else "")


class EventsMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of the operations of a message, in their order."""

    protocol_version: Literal["1.0"]
    run_id: str
    status: Status
    events: list[OperationEvent]
