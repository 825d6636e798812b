"""Step through the operations of a batch, and record each one before the next begins (O7 to O13).

Steps block. They stop at a shell command, which the caller runs before it continues.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from msgspec import UNSET, Raw

from codex_adapter.protocols.operations.audit import AuditKind, AuditRecord, audit_data
from codex_adapter.protocols.operations.batch_steps import CommandToRun, NeedsDecision, Outcome, Paused, Ready, name_of
from codex_adapter.protocols.operations.encoding import event_pieces
from codex_adapter.protocols.operations.event_factory import EventFactory, without_outputs
from codex_adapter.protocols.operations.events import OperationEvent, ReadFileEvent, ShellEvent
from codex_adapter.protocols.operations.files import FileChange, FileExecutor, NoChange
from codex_adapter.protocols.operations.judging import Denied, NeedsApproval, judge
from codex_adapter.protocols.operations.messages import Approval, Status
from codex_adapter.protocols.operations.operations import Operation, ReadFileOperation, ShellOperation
from codex_adapter.protocols.operations.policy import Policy
from codex_adapter.protocols.operations.store import Batch, Intent, Step, Store
from codex_adapter.protocols.operations.validation import Invalid, parse_operation, read_operation
from codex_adapter.records import encode_lines
from codex_adapter.workspace import WorkspaceError

__all__ = ["BatchStepper", "new_id"]

_MOST_RETURNED: Final = 32 * 1024 * 1024
_TOO_MUCH_RETURNED: Final = "The answer is full of other files and outputs. Read this file in a separate message"
_KILLED: Final = (
    "The runtime was killed while this command ran, and its outcome is unknown. Check its effects before you repeat it"
)


def new_id(prefix: str) -> str:
    """Return a new unique id."""
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


class BatchStepper:
    """The execution of batches with a policy. Each step is recorded in `store`.

    Any thread may set `stopping`. The batch then pauses before the next operation.
    """

    def __init__(self, store: Store, files: FileExecutor, policy: Policy, outcomes: EventFactory) -> None:
        self._store = store
        self._files = files
        self._policy = policy
        self._events = outcomes
        self._in_memory: tuple[Batch, Sequence[Raw]] | None = None
        self._bytes_returned = 0
        self.stopping = threading.Event()

    def begin(self, run_id: str, operations: Sequence[Raw]) -> Batch:
        """Record and return a new batch."""
        with self._store.change():
            self._log(run_id, "message", {"operations": len(operations)})
            batch = self._store.add(run_id, operations)
        self._in_memory = batch, operations
        self._bytes_returned = 0
        return batch

    def resume(self, batch: Batch) -> CommandToRun | Paused:
        """Continue a batch from its beginning, from a pending operation, or after a kill (O11, O12)."""
        step = self._store.next_step(batch)
        if step is None or step.state != "under_way":
            return self._advance(batch)
        operation = self._read(batch, step)
        if isinstance(operation, ShellOperation):
            event = self._events.failed(operation, name_of(step, operation), _KILLED)
            return self._advance(batch, Outcome(step, event, operation))
        return self._advance(batch, self._execute_on_files(batch, step, operation, step.intent, killed=True))

    def decide(self, batch: Batch, step: Step, approval: Approval) -> CommandToRun | Paused:
        """Continue with the pending operation after a decision of a person (A8)."""
        self._bytes_returned = 0
        operation = self._read(batch, step)
        found = self._ready(batch, step, operation) if approval.decision == "approved" else None
        with self._store.change():
            self._store.decide(batch, step, approval.decision)
            decision = {"operationId": step.operation_id, "decision": approval.decision}
            reason = {"reason": approval.reason} if approval.reason else {}
            self._log(batch.run_id, "decision", decision | reason, step)
            if isinstance(found, Ready):
                self._begin(batch, found)
            else:
                self._store.begin(step, None)
            if found is None:
                # In one transaction: between two, a kill would leave it approved and begun.
                denied = self._events.denied(operation, step.operation_id, approval.reason or "Denied by the user")
                self._settle(batch, Outcome(step, denied, operation))
        return self._advance(batch, found)

    def finish_command(self, batch: Batch, outcome: Outcome) -> CommandToRun | Paused:
        """Record the outcome of a command, and continue."""
        event = outcome.event
        if isinstance(event, ShellEvent):
            if self._bytes_returned >= _MOST_RETURNED:
                event = without_outputs(event)
            self._bytes_returned += len(event.stdout or "") + len(event.stderr or "")
        return self._advance(batch, outcome._replace(event=event))

    def system_failure(self, batch: Batch, step: Step, operation: Operation, error: WorkspaceError) -> Outcome:
        """Return the outcome for a failure of the machine (O8)."""
        details = {"notCarriedOut": self._store.count_after(batch, step)}
        event = self._events.error("system", error.text, name_of(step, operation), details)
        return Outcome(step, event, operation, halts=True)

    def stopped(self, batch: Batch) -> OperationEvent:
        """Return the last event of a reply after a stop signal (O13)."""
        step = self._store.next_step(batch)
        left = 0 if step is None else 1 + self._store.count_after(batch, step)
        text = "The runtime received a stop signal"
        if self._store.kept:
            text += ". Start it again to execute the remaining operations"
        return self._events.error("system", text, None, {"notCarriedOut": left})

    def refuse(self, run_id: str, reason: str) -> None:
        """Log a refused message."""
        with self._store.change():
            self._log(run_id, "refused", {"reason": reason})

    def _advance(self, batch: Batch, found: Ready | Outcome | None = None) -> CommandToRun | Paused:
        """Record an outcome and begin the next operation, in one transaction each, until a command or a pause."""
        while True:
            if isinstance(found, Ready):
                step, operation, intent = found
                if isinstance(operation, ShellOperation):
                    return CommandToRun(step, operation, name_of(step, operation))
                found = self._execute_on_files(batch, step, operation, intent)
            halts = found is not None and found.halts
            position = -1 if found is None else found.step.position
            upcoming = None if halts else self._store.next_step(batch, position)
            waits = upcoming is not None and upcoming.state == "waiting"
            stops = upcoming is not None and not waits and self.stopping.is_set()
            following = None if upcoming is None or waits or stops else self._judge(batch, upcoming)
            with self._store.change():
                if found is not None:
                    self._settle(batch, found)
                if upcoming is None:
                    return self._end(batch, "error" if halts else "completed")
                if following is None:
                    return self._pause(batch, None if stops else "awaiting_approval")
                if isinstance(following, NeedsDecision):
                    return self._wait(batch, following)
                if isinstance(following, Ready):
                    self._begin(batch, following)
            found = following

    def _judge(self, batch: Batch, step: Step) -> Ready | NeedsDecision | Outcome:
        """Judge an operation by the rules and the policy."""
        operation = read_operation(self._document(batch, step))
        if isinstance(operation, Invalid):
            named = None if operation.id is UNSET else operation.id
            return Outcome(step, self._events.error("validation", operation.error, named), None)
        match judge(self._policy, operation):
            case Denied(reason=reason, suggestion=suggestion):
                denied = self._events.denied(operation, name_of(step, operation), reason, suggestion)
                return Outcome(step, denied, operation)
            case NeedsApproval() as verdict:
                return NeedsDecision(step, operation, verdict)
        return self._ready(batch, step, operation)

    def _ready(self, batch: Batch, step: Step, operation: Operation) -> Ready | Outcome:
        try:
            # Without a state file, no later process recovers the operation.
            return Ready(step, operation, self._files.intent(operation) if self._store.kept else None)
        except WorkspaceError as error:
            return self.system_failure(batch, step, operation, error)

    def _begin(self, batch: Batch, ready: Ready) -> None:
        """Record that an operation is executed next. After a kill, the log may have no other record of a command."""
        step, operation, intent = ready
        self._store.begin(step, intent)
        if isinstance(operation, ShellOperation):
            self._log(batch.run_id, "begun", {"operation": audit_data(operation)}, step)

    def _execute_on_files(
        self, batch: Batch, step: Step, operation: FileChange | NoChange, intent: Intent | None, *, killed: bool = False
    ) -> Outcome:
        operation_id = name_of(step, operation)
        try:
            if killed and intent is not None and isinstance(operation, FileChange):
                event = self._files.recover(operation, intent, operation_id)
            elif isinstance(operation, ReadFileOperation) and self._bytes_returned >= _MOST_RETURNED:
                event = self._events.failed(operation, operation_id, _TOO_MUCH_RETURNED)
            else:
                event = self._files.execute(operation, operation_id)
                if isinstance(event, ReadFileEvent):
                    self._bytes_returned += event.size or 0
        except WorkspaceError as error:
            return self.system_failure(batch, step, operation, error)
        return Outcome(step, event, operation)

    def _wait(self, batch: Batch, waits: NeedsDecision) -> Paused:
        step, operation, verdict = waits
        operation_id = operation.id
        if operation_id is UNSET or operation_id in self._store.ids_decided(batch):
            operation_id = new_id("op")
        event = self._events.waits(operation, operation_id, verdict.reason, verdict.rule)
        self._store.wait(step, operation_id, b"".join(event_pieces(event)))
        self._log(batch.run_id, "event", {"event": audit_data(event)}, step)
        return self._pause(batch, "awaiting_approval")

    def _pause(self, batch: Batch, status: Status | None) -> Paused:
        self._in_memory = None
        return Paused(batch, status)

    def _settle(self, batch: Batch, outcome: Outcome) -> None:
        step, event, operation, _ = outcome
        about = {} if operation is None else {"operation": audit_data(operation)}
        self._log(batch.run_id, "event", about | {"event": audit_data(event)}, step)
        self._store.finish(step, partial(event_pieces, event))

    def _end(self, batch: Batch, status: Status) -> Paused:
        self._store.end(batch, status)
        self._log(batch.run_id, "ended", {"status": status})
        return self._pause(batch._replace(status=status), status)

    def _document(self, batch: Batch, step: Step) -> bytes | Raw:
        """Return an operation as it was sent, from memory if the message is still in memory."""
        if self._in_memory is not None and self._in_memory[0] == batch:
            return self._in_memory[1][step.position]
        return self._store.document(step)

    def _read(self, batch: Batch, step: Step) -> Operation:
        """Return an operation that is known to be valid."""
        return parse_operation(self._document(batch, step))

    def _log(self, run_id: str, kind: AuditKind, data: dict[str, Any], step: Step | None = None) -> None:
        position = None if step is None else step.position
        encoded = Raw(encode_lines((data,))[:-1])
        self._store.log(AuditRecord(time=self._events.now(), run_id=run_id, position=position, kind=kind, data=encoded))
