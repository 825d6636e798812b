"""Execute the operations of a message in order, and answer with an events message (O7 to O13, A7, A8).

Only one task uses an executor. Blocking work runs in a thread, one call at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

import msgspec
import trio
from msgspec import UNSET

from codex_adapter.file_systems import work_through
from codex_adapter.protocols.operations.batch import BatchStepper, new_id
from codex_adapter.protocols.operations.batch_steps import CommandToRun, Outcome, Paused
from codex_adapter.protocols.operations.commands import CommandRunner
from codex_adapter.protocols.operations.encoding import encode_events_message
from codex_adapter.protocols.operations.event_factory import Clock, EventFactory, utc_now
from codex_adapter.protocols.operations.events import ApprovalRequiredEvent, OperationEvent
from codex_adapter.protocols.operations.files import FileExecutor, Preview
from codex_adapter.protocols.operations.findings import safe_text
from codex_adapter.protocols.operations.messages import (
    Approval,
    InvalidMessageError,
    OperationsMessage,
    Status,
    read_message,
)
from codex_adapter.protocols.operations.operations import Operation
from codex_adapter.protocols.operations.policy import Policy
from codex_adapter.protocols.operations.store import Batch, Step, Store
from codex_adapter.protocols.operations.validation import parse_operation
from codex_adapter.workspace import Containment, Sandbox, Workspace, WorkspaceError

__all__ = ["ExecutorReply", "OperationExecutor", "PendingApproval", "Preview"]

_approval_events = msgspec.json.Decoder(ApprovalRequiredEvent)


class PendingApproval(NamedTuple):
    """An operation that needs a person's decision, and the key of the policy that requires it."""

    run_id: str
    operation_id: str
    operation: Operation
    reason: str
    policy: str


class ExecutorReply(NamedTuple):
    """An events message as a line with its newline. `batch` is None if the message was refused."""

    run_id: str
    status: Status
    line: bytes
    batch: Batch | None = None


class OperationExecutor:
    """An executor of operations in a workspace, with a policy and the state in `store`.

    Commands run in `sandbox`, if it is not None, and in `containment`, by default of any level. `clock` returns the
    times of events. Every async method raises `StateError` if the state cannot be stored. After that, nothing more is
    executed.
    """

    def __init__(
        self,
        workspace: Workspace,
        store: Store,
        policy: Policy,
        sandbox: Sandbox | None,
        *,
        containment: Containment | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self.steering: Final = workspace.steering
        """The names that an agent must not change (H15)."""
        self._store = store
        self._last_pending: tuple[tuple[Batch, Step], PendingApproval] | None = None
        self._limits = policy.limits
        self._events = EventFactory(clock)
        self._files = FileExecutor(workspace, policy.limits.file_bytes, self._events)
        self._stepper = BatchStepper(store, self._files, policy, self._events)
        self._commands = CommandRunner(workspace, policy, sandbox, self._events, containment or Containment())

    def stop(self) -> None:
        """Pause before the next operation, and kill the current command (O13)."""
        self._stepper.stopping.set()
        self._commands.stop()

    async def resume_unfinished(self) -> list[ExecutorReply]:
        """Continue the batches of an earlier process, and return their replies (O11)."""
        return [await self._reply(await self._run(batch)) for batch in await work_through(self._store.batches)]

    async def handle(self, line: bytes | bytearray) -> ExecutorReply:
        """Execute a message or a decision until its batch pauses (O7, A8)."""
        try:
            message = read_message(line)
        except InvalidMessageError as error:
            return await self.refuse(str(error))
        match message:
            case OperationsMessage():
                return await self._begin(message)
            case Approval():
                return await self.decide(message)
        found = self._pending()
        if found is None:
            return await self.refuse("no operation waits for a decision")
        if message.decision is None:
            return await self.refuse('content: must be "approved" or "denied"')
        return await self.decide(Approval(operation_id=found[1].operation_id or "", decision=message.decision))

    async def decide(self, approval: Approval) -> ExecutorReply:
        """Execute a decision on the pending operation until its batch pauses (A8)."""
        found = self._pending()
        if found is None or found[1].operation_id != approval.operation_id:
            return await self.refuse(self._explain_refusal(approval))
        batch, step = found
        if approval.run_id not in (UNSET, batch.run_id):
            return await self.refuse(
                "runId: does not match the operation that waits. Use the runId of approvalRequired"
            )
        return await self._reply(
            await self._run_commands(batch, await work_through(self._stepper.decide, batch, step, approval))
        )

    async def refuse(self, reason: str) -> ExecutorReply:
        """Refuse a message, and return the reply. It has the id of the pending batch, if any, which stays pending."""
        found = self._pending()
        status: Status = "error" if found is None else "awaiting_approval"
        run_id = new_id("run") if found is None else found[0].run_id
        await work_through(self._stepper.refuse, run_id, reason)
        event = self._events.error("validation", reason)
        return ExecutorReply(run_id, status, encode_events_message(run_id, status, [event]))

    def pending(self) -> PendingApproval | None:
        """Return the operation that waits for a decision, if any."""
        found = self._pending()
        if found is None:
            self._last_pending = None
        elif self._last_pending is None or self._last_pending[0] != found:
            self._last_pending = found, self._read_pending(*found)
        return None if self._last_pending is None else self._last_pending[1]

    async def preview(self, pending: PendingApproval) -> Preview | None:
        """Return the effect of a pending operation on a file; None without an effect to show."""
        return await work_through(self._files.preview, pending.operation)

    async def confirm_delivery(self, reply: ExecutorReply) -> None:
        """Record that a reply was delivered, so that its events can be deleted (O9)."""
        if reply.batch is not None:
            await work_through(self._forget, reply.batch)

    async def _begin(self, message: OperationsMessage) -> ExecutorReply:
        found = self._pending()
        if found is not None:
            quoted = safe_text(found[1].operation_id or "")
            return await self.refuse(f"operation {quoted} waits for a decision. Approve or deny it first")
        if len(message.operations) > self._limits.operations:
            return await self.refuse(
                f"operations: must have at most {self._limits.operations} operations. Send fewer at once"
            )
        batch = await work_through(self._stepper.begin, new_id("run"), message.operations)
        del message  # it may be large, and the store has it
        return await self._reply(await self._run(batch))

    def _explain_refusal(self, approval: Approval) -> str:
        """Return the reason why a decision is not for the pending operation (A8)."""
        earlier = self._store.last_decision(approval.operation_id)
        if earlier is None:
            return "operationId: no operation with this id waits for a decision"
        run_id, decision = earlier
        ended = all(batch.run_id != run_id for batch in self._store.batches())
        return f"operationId: it was {decision} already" + (f", in {run_id}, which has ended" if ended else "")

    async def _run(self, batch: Batch) -> Paused:
        if batch.status is not None:
            return Paused(batch, batch.status)
        return await self._run_commands(batch, await work_through(self._stepper.resume, batch))

    async def _run_commands(self, batch: Batch, found: CommandToRun | Paused) -> Paused:
        while isinstance(found, CommandToRun):
            step, operation, operation_id = found
            try:
                outcome = Outcome(step, await self._commands.run(operation, operation_id), operation)
            except WorkspaceError as error:
                outcome = await work_through(self._stepper.system_failure, batch, step, operation, error)
            # The command has run, so a cancellation must not lose its result.
            with trio.CancelScope(shield=True):
                found = await work_through(self._stepper.finish_command, batch, outcome)
        return found

    async def _reply(self, paused: Paused) -> ExecutorReply:
        batch, status = paused
        return await work_through(self._encode_reply, batch, status)

    def _encode_reply(self, batch: Batch, status: Status | None) -> ExecutorReply:
        events: Iterator[Iterator[bytes] | OperationEvent] = self._store.events(batch)
        if status is None:
            events = chain(events, [self._stepper.stopped(batch)])
        line = encode_events_message(batch.run_id, status or "error", events)
        return ExecutorReply(batch.run_id, status or "error", line, batch)

    def _pending(self) -> tuple[Batch, Step] | None:
        for batch in self._store.batches():
            step = self._store.next_step(batch)
            if step is not None and step.state == "waiting":
                return batch, step
        return None

    def _read_pending(self, batch: Batch, step: Step) -> PendingApproval:
        *_, pieces = self._store.events(batch)
        event = _approval_events.decode(b"".join(pieces))
        operation = parse_operation(self._store.document(step))
        return PendingApproval(batch.run_id, event.operation_id, operation, event.reason, event.details.policy or "")

    def _forget(self, batch: Batch) -> None:
        with self._store.change():
            self._store.deliver(batch)
