"""The runtime: one message in, one events message out, each operation in its turn (O7 to O13, A7, A8).

One task uses it. What blocks is done in a thread, one thing at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

import msgspec
import trio
from msgspec import UNSET

from codex_adapter.file_systems import work_through
from codex_adapter.protocols.operations.batch import Walk, new_id
from codex_adapter.protocols.operations.batch_steps import Command, Outcome, Resting
from codex_adapter.protocols.operations.commands import Commands
from codex_adapter.protocols.operations.encoding import encode_events_message
from codex_adapter.protocols.operations.files import Files, Preview
from codex_adapter.protocols.operations.findings import printable
from codex_adapter.protocols.operations.messages import InvalidMessageError, read_message
from codex_adapter.protocols.operations.outcomes import Clock, Outcomes, utc_now
from codex_adapter.protocols.operations.policy import Policy
from codex_adapter.protocols.operations.protocol import (
    Approval,
    ApprovalRequiredEvent,
    Operation,
    OperationEvent,
    OperationsMessage,
    Status,
)
from codex_adapter.protocols.operations.store import Batch, Step, Store
from codex_adapter.protocols.operations.validation import parse_operation
from codex_adapter.workspace import Containment, Sandbox, Workspace, WorkspaceError

__all__ = ["Answer", "Preview", "Runtime", "Waiting"]

_waits = msgspec.json.Decoder(ApprovalRequiredEvent)


class Waiting(NamedTuple):
    """An operation that a person is to decide on, and by which key of the policy."""

    run_id: str
    operation_id: str
    operation: Operation
    reason: str
    policy: str


class Answer(NamedTuple):
    """An events message as a line with its newline; `batch` is None where nothing was taken up."""

    run_id: str
    status: Status
    line: bytes
    batch: Batch | None = None


class Runtime:
    """Carries out operations in a workspace, by a policy, keeping its state in `store`.

    `sandbox` is for commands; None runs them without one. `containment` holds them, at any level by default. `clock`
    gives the times of events.
    Every method that is async raises `StateError` when the state cannot be kept: then nothing more is carried out.
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
        self._limits = policy.limits
        self._outcomes = Outcomes(clock)
        self._files = Files(workspace, policy.limits.file_bytes, self._outcomes)
        self._walk = Walk(store, self._files, policy, self._outcomes)
        self._commands = Commands(workspace, policy, sandbox, self._outcomes, containment or Containment())

    def stop(self) -> None:
        """Rest before the next operation; a command under way is killed (O13)."""
        self._walk.stopping.set()
        self._commands.stop()

    async def unfinished(self) -> list[Answer]:
        """Go on with what an earlier life of this state left, and give what it did not deliver (O11)."""
        return [await self._answer(await self._run(batch)) for batch in await work_through(self._store.batches)]

    async def take(self, line: bytes | bytearray) -> Answer:
        """Carry out a message, or a decision, to where it rests (O7, A8)."""
        try:
            message = read_message(line)
        except InvalidMessageError as error:
            return await self.refuse(str(error))
        match message:
            case OperationsMessage():
                return await self._begin(message)
            case Approval():
                return await self.decide(message)
        found = self._waiting()
        if found is None:
            return await self.refuse("no operation waits for a decision")
        if message.decision is None:
            return await self.refuse('content: must be "approved" or "denied"')
        return await self.decide(Approval(operation_id=found[1].operation_id or "", decision=message.decision))

    async def decide(self, approval: Approval) -> Answer:
        """Carry out a decision on what waits, to where it rests (A8)."""
        found = self._waiting()
        if found is None or found[1].operation_id != approval.operation_id:
            return await self.refuse(self._why_not(approval))
        batch, step = found
        if approval.run_id not in (UNSET, batch.run_id):
            return await self.refuse("runId: is not that of the operation that waits")
        return await self._answer(
            await self._until_it_rests(batch, await work_through(self._walk.decide, batch, step, approval))
        )

    async def refuse(self, reason: str) -> Answer:
        """What was not taken up at all; with the id of the batch that waits, if one does: it goes on waiting."""
        found = self._waiting()
        status: Status = "error" if found is None else "awaiting_approval"
        run_id = new_id("run") if found is None else found[0].run_id
        await work_through(self._walk.refuse, run_id, reason)
        event = self._outcomes.error("validation", reason)
        return Answer(run_id, status, encode_events_message(run_id, status, [event]))

    def waiting(self) -> Waiting | None:
        """The operation that waits, if one does."""
        found = self._waiting()
        if found is None:
            return None
        batch, step = found
        *_, told = self._store.events(batch)
        event = _waits.decode(b"".join(told))
        operation = parse_operation(self._store.document(step))
        return Waiting(batch.run_id, event.operation_id, operation, event.reason, event.details.policy or "")

    async def preview(self, waiting: Waiting) -> Preview | None:
        """What an operation that waits would make of a file; None where there is nothing to be seen of that."""
        return await work_through(self._files.preview, waiting.operation)

    async def delivered(self, answer: Answer) -> None:
        """Whoever asked has the answer: its events need not be kept (O9)."""
        if answer.batch is not None:
            await work_through(self._forget, answer.batch)

    async def _begin(self, message: OperationsMessage) -> Answer:
        found = self._waiting()
        if found is not None:
            named = printable(found[1].operation_id or "")
            return await self.refuse(f"operation {named} waits to be approved or denied; decide on it first")
        if len(message.operations) > self._limits.operations:
            return await self.refuse(f"operations: must be at most {self._limits.operations}; send fewer at once")
        batch = await work_through(self._walk.begin, new_id("run"), message.operations)
        del message  # it may be large, and is in the store
        return await self._answer(await self._run(batch))

    def _why_not(self, approval: Approval) -> str:
        """Why a decision is none on what waits (A8)."""
        earlier = self._store.last_decision(approval.operation_id)
        if earlier is None:
            return "operationId: no operation with this id waits for a decision"
        run_id, decision = earlier
        over = all(batch.run_id != run_id for batch in self._store.batches())
        return f"operationId: it was {decision} already" + (f", in {run_id}, which is over" if over else "")

    async def _run(self, batch: Batch) -> Resting:
        if batch.status is not None:
            return Resting(batch, batch.status)
        return await self._until_it_rests(batch, await work_through(self._walk.go_on, batch))

    async def _until_it_rests(self, batch: Batch, found: Command | Resting) -> Resting:
        while isinstance(found, Command):
            step, operation, operation_id = found
            try:
                outcome = Outcome(step, await self._commands.run(operation, operation_id), operation)
            except WorkspaceError as error:
                outcome = await work_through(self._walk.halted, batch, step, operation, error)
            # The command has run: whoever cancels now must not make it unknown what came of it.
            with trio.CancelScope(shield=True):
                found = await work_through(self._walk.settle, batch, outcome)
        return found

    async def _answer(self, resting: Resting) -> Answer:
        batch, status = resting
        return await work_through(self._written, batch, status)

    def _written(self, batch: Batch, status: Status | None) -> Answer:
        events: Iterator[Iterator[bytes] | OperationEvent] = self._store.events(batch)
        if status is None:
            events = chain(events, [self._walk.stopped(batch)])
        line = encode_events_message(batch.run_id, status or "error", events)
        return Answer(batch.run_id, status or "error", line, batch)

    def _waiting(self) -> tuple[Batch, Step] | None:
        for batch in self._store.batches():
            step = self._store.next_step(batch)
            if step is not None and step.state == "waiting":
                return batch, step
        return None

    def _forget(self, batch: Batch) -> None:
        with self._store.change():
            self._store.deliver(batch)
