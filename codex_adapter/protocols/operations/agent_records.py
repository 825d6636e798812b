"""Encode the records of an agent's work: numbered JSON objects, one a line (O16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Raw

from codex_adapter import AdapterError, Completion, Event
from codex_adapter.protocols.operations.executor import PendingApproval
from codex_adapter.records import completion_body, encode_lines

__all__ = ["Reason", "RecordEncoder", "WorkEnd"]

Reason: TypeAlias = Literal["completed", "turn_limit", "stopped", "awaiting_approval", "failed"]
"""The reason why the work ended (O17)."""


class WorkEnd(NamedTuple):
    """The end of the work of an agent, with the number of turns (O17).

    `outcome` is that of the last run. `pending` is the operation without a decision. `error` is a problem, even if the
    work did not fail because of it.
    """

    reason: Reason
    turns: int
    session_id: str | None = None
    outcome: Completion | AdapterError | None = None
    pending: PendingApproval | None = None
    error: str | None = None


class RecordEncoder:
    """An encoder of records as lines with newlines. `turn` is the current turn, 0 before the first."""

    def __init__(self) -> None:
        self.turn = 0
        self._next_seq = 0

    def run_events(self, events: Sequence[Event]) -> bytes:
        """Return events of the agent's run, each on a line."""
        return encode_lines([self._record("runEvent", event=event) for event in events])

    def run_ended(self, outcome: Completion | AdapterError) -> bytes:
        """Return the end of the agent's run."""
        kind = "runCompleted" if isinstance(outcome, Completion) else "runFailed"
        return self._line(kind, completion=Raw(completion_body(outcome)))

    def operations(self, message: bytes) -> bytes:
        """Return the operations of the agent; `message` is JSON on one line."""
        return self._line("operations", message=Raw(message))

    def events(self, message: bytes) -> bytes:
        """Return the events of operations; `message` is JSON on one line."""
        return self._line("events", message=Raw(message.removesuffix(b"\n")))

    def ended(self, ended: WorkEnd) -> bytes:
        """Return the last record, that of the end."""
        members: dict[str, Any] = {"reason": ended.reason, "turns": ended.turns}
        if ended.session_id is not None:
            members["sessionId"] = ended.session_id
        if ended.pending is not None:
            members |= {"runId": ended.pending.run_id, "operationId": ended.pending.operation_id}
        if ended.error is not None:
            members["error"] = ended.error
        return self._line("ended", **members)

    def _line(self, kind: str, **members: Any) -> bytes:
        return encode_lines((self._record(kind, **members),))

    def _record(self, kind: str, **members: Any) -> dict[str, Any]:
        seq = self._next_seq
        self._next_seq += 1
        return {"type": kind, "seq": seq, "turn": self.turn, **members}
