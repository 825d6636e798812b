"""Create the event of an operation, with its time and the operation's id (O7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from codex_adapter.protocols.operations.encoding import timestamp
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
)
from codex_adapter.protocols.operations.operations import MessageOperation, Operation, ShellOperation

__all__ = ["Clock", "EventFactory", "utc_now", "without_outputs"]

Clock: TypeAlias = Callable[[], datetime]
_EVENTS: Final[dict[str, type[Any]]] = {
    "createFile": CreateFileEvent,
    "readFile": ReadFileEvent,
    "editFile": EditFileEvent,
    "deleteFile": DeleteFileEvent,
    "shell": ShellEvent,
}


def utc_now() -> datetime:
    """Return the time of the system's clock."""
    return datetime.now(UTC)


class EventFactory:
    """A factory of events with the time of a clock, to the millisecond."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock

    def now(self) -> str:
        """Return the time as in events."""
        return timestamp(self._clock())

    def done(self, operation: Operation, operation_id: str | None, **members: Any) -> OperationEvent:
        """Return the event of an operation that succeeded, or of a command that ran."""
        return self._event(operation, operation_id, **{"success": True, **members})

    def failed(self, operation: Operation, operation_id: str | None, error: str) -> OperationEvent:
        """Return the event of an operation that failed. A message cannot fail."""
        return self._event(operation, operation_id, success=False, error=error)

    def denied(
        self, operation: Operation, operation_id: str | None, reason: str, suggestion: str | None = None
    ) -> PolicyDeniedEvent:
        """Return the event of an operation that a policy or a person forbids."""
        return PolicyDeniedEvent(
            operation_type=operation.type,
            reason=reason,
            suggestion=UNSET if suggestion is None else suggestion,
            **self._stamp(operation_id),
        )

    def waits(self, operation: Operation, operation_id: str, reason: str, policy: str) -> ApprovalRequiredEvent:
        """Return the event of an operation that needs a person's decision."""
        return ApprovalRequiredEvent(
            timestamp=self.now(),
            operation_id=operation_id,
            operation_type=operation.type,
            reason=reason,
            details=ApprovalDetails(policy=policy, **_subject(operation)),
        )

    def error(
        self, category: Category, message: str, operation_id: str | None = None, details: dict[str, Any] | None = None
    ) -> ErrorEvent:
        """Return the event of an invalid operation, or of a failure of the machine."""
        return ErrorEvent(
            category=category,
            message=message,
            details=UNSET if details is None else details,
            **self._stamp(operation_id),
        )

    def _event(self, operation: Operation, operation_id: str | None, **members: Any) -> OperationEvent:
        stamp = self._stamp(operation_id)
        if isinstance(operation, MessageOperation):
            return MessageEvent(**stamp)
        event: OperationEvent = _EVENTS[operation.type](**_subject(operation), **members, **stamp)
        return event

    def _stamp(self, operation_id: str | None) -> dict[str, Any]:
        return {"timestamp": self.now(), "operation_id": UNSET if operation_id is None else operation_id}


def _subject(operation: Operation) -> dict[str, str]:
    """Return the path or the command of an operation, as members of its event."""
    match operation:
        case MessageOperation():
            return {}
        case ShellOperation(command=command):
            return {"command": command}
    return {"path": operation.path}


def without_outputs(event: ShellEvent) -> ShellEvent:
    """Return the event of a command without its output, whose bytes are counted as left out (O10)."""
    before = event.left_out or LeftOut()
    left_out = {
        name: (getattr(before, name) or 0) + len(text.encode()) or UNSET
        for name, text in (("stdout", event.stdout or ""), ("stderr", event.stderr or ""))
    }
    return replace(event, stdout="", stderr="", left_out=LeftOut(**left_out))
