"""The stream of an agent's work: one JSON object a line, numbered, for whoever supervises it (O16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Raw

from codex_adapter import AdapterError, Completion, Event
from codex_adapter.protocols.operations.executor import Waiting
from codex_adapter.records import completion_body, encode_lines

__all__ = ["Ended", "Reason", "Records"]

Reason: TypeAlias = Literal["completed", "turn_limit", "stopped", "awaiting_approval", "failed"]
"""Why the work ended (O17)."""


class Ended(NamedTuple):
    """How the work of an agent ended, after how many turns; `outcome` is that of its last run (O17).

    `waiting` is what nobody has decided on, `error` what is amiss, also where the work did not fail of it.
    """

    reason: Reason
    turns: int
    session_id: str | None = None
    outcome: Completion | AdapterError | None = None
    waiting: Waiting | None = None
    error: str | None = None


class Records:
    """Makes the lines, each with its newline; `turn` is the turn under way, 0 before the first."""

    def __init__(self) -> None:
        self.turn = 0
        self._next_seq = 0

    def run_events(self, events: Sequence[Event]) -> bytes:
        """Events of the agent's run, a line each."""
        return encode_lines([self._record("runEvent", event=event) for event in events])

    def run_ended(self, outcome: Completion | AdapterError) -> bytes:
        """The end of the agent's run."""
        kind = "runCompleted" if isinstance(outcome, Completion) else "runFailed"
        return self._line(kind, completion=Raw(completion_body(outcome)))

    def operations(self, message: bytes) -> bytes:
        """What the agent wants done: JSON on one line."""
        return self._line("operations", message=Raw(message))

    def events(self, message: bytes) -> bytes:
        """What came of it: JSON on one line."""
        return self._line("events", message=Raw(message.removesuffix(b"\n")))

    def ended(self, ended: Ended) -> bytes:
        """The last line of all."""
        told: dict[str, Any] = {"reason": ended.reason, "turns": ended.turns}
        if ended.session_id is not None:
            told["sessionId"] = ended.session_id
        if ended.waiting is not None:
            told |= {"runId": ended.waiting.run_id, "operationId": ended.waiting.operation_id}
        if ended.error is not None:
            told["error"] = ended.error
        return self._line("ended", **told)

    def _line(self, kind: str, **members: Any) -> bytes:
        return encode_lines((self._record(kind, **members),))

    def _record(self, kind: str, **members: Any) -> dict[str, Any]:
        seq = self._next_seq
        self._next_seq += 1
        return {"type": kind, "seq": seq, "turn": self.turn, **members}
