"""A batch on its way through its operations, one after the other, each recorded before the next begins (O7 to O13).

It blocks, and goes as far as it gets without a command: that is run by whoever calls, who comes back with its event.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from msgspec import UNSET, Raw

from codex_adapter.protocols.operations.audit import AuditKind, AuditRecord, audit_data
from codex_adapter.protocols.operations.batch_steps import Command, Outcome, Ready, Resting, Waits, name_of
from codex_adapter.protocols.operations.encoding import event_pieces
from codex_adapter.protocols.operations.files import Change, Files, Quiet
from codex_adapter.protocols.operations.judging import Denied, NeedsApproval, judge
from codex_adapter.protocols.operations.outcomes import Outcomes, without_outputs
from codex_adapter.protocols.operations.policy import Policy
from codex_adapter.protocols.operations.protocol import (
    Approval,
    Operation,
    OperationEvent,
    ReadFileEvent,
    ReadFileOperation,
    ShellEvent,
    ShellOperation,
    Status,
)
from codex_adapter.protocols.operations.store import Batch, Intent, Step, Store
from codex_adapter.protocols.operations.validation import Invalid, parse_operation, read_operation
from codex_adapter.records import encode_lines
from codex_adapter.workspace import WorkspaceError

__all__ = ["Walk", "new_id"]

_MOST_TOLD: Final = 32 * 1024 * 1024
_TOLD_ENOUGH: Final = "The answer is full of what was read before: read this file in a message of its own"
_KILLED: Final = "The runtime was killed while this command ran; what it did is unknown. Look before you repeat it"


def new_id(prefix: str) -> str:
    """An id that was never used."""
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


class Walk:
    """Takes batches through their operations, by one policy, and keeps `store` true to it.

    `stopping` may be set from any thread: the walk rests before the next operation.
    """

    def __init__(self, store: Store, files: Files, policy: Policy, outcomes: Outcomes) -> None:
        self._store = store
        self._files = files
        self._policy = policy
        self._outcomes = outcomes
        self._at_hand: tuple[Batch, Sequence[Raw]] | None = None
        self._bytes_told = 0
        self.stopping = threading.Event()

    def begin(self, run_id: str, operations: Sequence[Raw]) -> Batch:
        """A new batch, of which nothing has been carried out."""
        with self._store.change():
            self._log(run_id, "message", {"operations": len(operations)})
            batch = self._store.add(run_id, operations)
        self._at_hand = batch, operations
        self._bytes_told = 0
        return batch

    def go_on(self, batch: Batch) -> Command | Resting:
        """Go on where a batch stands: at its beginning, where it waits, or where a kill cut it short (O11, O12)."""
        step = self._store.next_step(batch)
        if step is None or step.state != "under_way":
            return self._advance(batch)
        operation = self._read(batch, step)
        if isinstance(operation, ShellOperation):
            event = self._outcomes.failed(operation, name_of(step, operation), _KILLED)
            return self._advance(batch, Outcome(step, event, operation))
        return self._advance(batch, self._on_files(batch, step, operation, step.intent, killed=True))

    def decide(self, batch: Batch, step: Step, approval: Approval) -> Command | Resting:
        """Go on with what waited, by a person's decision (A8)."""
        self._bytes_told = 0
        operation = self._read(batch, step)
        found = self._ready(batch, step, operation) if approval.decision == "approved" else None
        with self._store.change():
            self._store.decide(batch, step, approval.decision)
            told = {"operationId": step.operation_id, "decision": approval.decision}
            self._log(batch.run_id, "decision", told | ({"reason": approval.reason} if approval.reason else {}), step)
            if isinstance(found, Ready):
                self._begin(batch, found)
            else:
                self._store.begin(step, None)
            if found is None:
                # A kill behind the decision would leave what looks as if it had been approved, and begun.
                reason = approval.reason or "Denied by the user"
                denied = self._outcomes.denied(operation, step.operation_id, reason)
                self._settle(batch, Outcome(step, denied, operation))
        return self._advance(batch, found)

    def settle(self, batch: Batch, outcome: Outcome) -> Command | Resting:
        """Go on behind a command that has run."""
        event = outcome.event
        if isinstance(event, ShellEvent):
            if self._bytes_told >= _MOST_TOLD:
                event = without_outputs(event)
            self._bytes_told += len(event.stdout or "") + len(event.stderr or "")
        return self._advance(batch, outcome._replace(event=event))

    def halted(self, batch: Batch, step: Step, operation: Operation, error: WorkspaceError) -> Outcome:
        """What a failure of the machine comes to (O8)."""
        details = {"notCarriedOut": self._store.count_behind(batch, step)}
        event = self._outcomes.error("system", error.text, name_of(step, operation), details)
        return Outcome(step, event, operation, halts=True)

    def stopped(self, batch: Batch) -> OperationEvent:
        """What ends an answer where the walk was asked to stop (O13)."""
        step = self._store.next_step(batch)
        left = 0 if step is None else 1 + self._store.count_behind(batch, step)
        text = "The runtime was asked to stop"
        if self._store.kept:
            text += "; what is left goes on when it is started again"
        return self._outcomes.error("system", text, None, {"notCarriedOut": left})

    def refuse(self, run_id: str, reason: str) -> None:
        """Log what was not taken up at all."""
        with self._store.change():
            self._log(run_id, "refused", {"reason": reason})

    def _advance(self, batch: Batch, found: Ready | Outcome | None = None) -> Command | Resting:
        """Record an outcome together with the beginning of what comes next, and so on for as long as it is files."""
        while True:
            if isinstance(found, Ready):
                step, operation, intent = found
                if isinstance(operation, ShellOperation):
                    return Command(step, operation, name_of(step, operation))
                found = self._on_files(batch, step, operation, intent)
            halts = found is not None and found.halts
            behind = -1 if found is None else found.step.position
            upcoming = None if halts else self._store.next_step(batch, behind)
            waits = upcoming is not None and upcoming.state == "waiting"
            stops = upcoming is not None and not waits and self.stopping.is_set()
            following = None if upcoming is None or waits or stops else self._judge(batch, upcoming)
            with self._store.change():
                if found is not None:
                    self._settle(batch, found)
                if upcoming is None:
                    return self._end(batch, "error" if halts else "completed")
                if following is None:
                    return self._rest(batch, None if stops else "awaiting_approval")
                if isinstance(following, Waits):
                    return self._wait(batch, following)
                if isinstance(following, Ready):
                    self._begin(batch, following)
            found = following

    def _judge(self, batch: Batch, step: Step) -> Ready | Waits | Outcome:
        """What the rules and the policy say of an operation."""
        operation = read_operation(self._document(batch, step))
        if isinstance(operation, Invalid):
            named = None if operation.id is UNSET else operation.id
            return Outcome(step, self._outcomes.error("validation", operation.error, named), None)
        match judge(self._policy, operation):
            case Denied(reason=reason, suggestion=suggestion):
                denied = self._outcomes.denied(operation, name_of(step, operation), reason, suggestion)
                return Outcome(step, denied, operation)
            case NeedsApproval() as verdict:
                return Waits(step, operation, verdict)
        return self._ready(batch, step, operation)

    def _ready(self, batch: Batch, step: Step, operation: Operation) -> Ready | Outcome:
        try:
            # What nobody keeps, nobody will ever ask how far it came.
            return Ready(step, operation, self._files.intent(operation) if self._store.kept else None)
        except WorkspaceError as error:
            return self.halted(batch, step, operation, error)

    def _begin(self, batch: Batch, ready: Ready) -> None:
        """Record that an operation is carried out next; when we are killed, the log may have no more of a command."""
        step, operation, intent = ready
        self._store.begin(step, intent)
        if isinstance(operation, ShellOperation):
            self._log(batch.run_id, "begun", {"operation": audit_data(operation)}, step)

    def _on_files(
        self, batch: Batch, step: Step, operation: Change | Quiet, intent: Intent | None, *, killed: bool = False
    ) -> Outcome:
        operation_id = name_of(step, operation)
        try:
            if killed and intent is not None and isinstance(operation, Change):
                event = self._files.after_a_kill(operation, intent, operation_id)
            elif isinstance(operation, ReadFileOperation) and self._bytes_told >= _MOST_TOLD:
                event = self._outcomes.failed(operation, operation_id, _TOLD_ENOUGH)
            else:
                event = self._files.carry_out(operation, operation_id)
                if isinstance(event, ReadFileEvent):
                    self._bytes_told += event.size or 0
        except WorkspaceError as error:
            return self.halted(batch, step, operation, error)
        return Outcome(step, event, operation)

    def _wait(self, batch: Batch, waits: Waits) -> Resting:
        step, operation, verdict = waits
        operation_id = operation.id
        if operation_id is UNSET or operation_id in self._store.ids_decided(batch):
            operation_id = new_id("op")
        event = self._outcomes.waits(operation, operation_id, verdict.reason, verdict.rule)
        self._store.wait(step, operation_id, b"".join(event_pieces(event)))
        self._log(batch.run_id, "event", {"event": audit_data(event)}, step)
        return self._rest(batch, "awaiting_approval")

    def _rest(self, batch: Batch, status: Status | None) -> Resting:
        self._at_hand = None
        return Resting(batch, status)

    def _settle(self, batch: Batch, outcome: Outcome) -> None:
        step, event, operation, _ = outcome
        about = {} if operation is None else {"operation": audit_data(operation)}
        self._log(batch.run_id, "event", about | {"event": audit_data(event)}, step)
        self._store.finish(step, partial(event_pieces, event))

    def _end(self, batch: Batch, status: Status) -> Resting:
        self._store.end(batch, status)
        self._log(batch.run_id, "ended", {"status": status})
        return self._rest(batch._replace(status=status), status)

    def _document(self, batch: Batch, step: Step) -> bytes | Raw:
        """An operation as it was sent, not read again while the message is still there."""
        if self._at_hand is not None and self._at_hand[0] == batch:
            return self._at_hand[1][step.position]
        return self._store.document(step)

    def _read(self, batch: Batch, step: Step) -> Operation:
        """An operation that has been found valid before."""
        return parse_operation(self._document(batch, step))

    def _log(self, run_id: str, kind: AuditKind, data: dict[str, Any], step: Step | None = None) -> None:
        position = None if step is None else step.position
        encoded = Raw(encode_lines((data,))[:-1])
        self._store.log(
            AuditRecord(time=self._outcomes.now(), run_id=run_id, position=position, kind=kind, data=encoded)
        )
