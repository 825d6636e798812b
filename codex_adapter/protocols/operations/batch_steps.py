"""What a step of a batch is found to be: ready, waiting, a command to be run, or come to its event."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import UNSET

from codex_adapter.protocols.operations.judging import NeedsApproval
from codex_adapter.protocols.operations.protocol import Operation, OperationEvent, ShellOperation, Status
from codex_adapter.protocols.operations.store import Batch, Intent, Step

__all__ = ["Command", "Outcome", "Ready", "Resting", "Waits", "name_of"]


class Outcome(NamedTuple):
    """An operation's event; `operation` None where it is none. `halts`: nothing behind it is to be carried out."""

    step: Step
    event: OperationEvent
    operation: Operation | None
    halts: bool = False


class Command(NamedTuple):
    """A command that is to be run now, and has been recorded as begun."""

    step: Step
    operation: ShellOperation
    operation_id: str | None


class Resting(NamedTuple):
    """A batch that goes no further by itself; `status` is None where the walk was asked to stop."""

    batch: Batch
    status: Status | None


class Ready(NamedTuple):
    """An operation that may be carried out."""

    step: Step
    operation: Operation
    intent: Intent | None


class Waits(NamedTuple):
    """An operation that a person is to decide on."""

    step: Step
    operation: Operation
    verdict: NeedsApproval


def name_of(step: Step, operation: Operation) -> str | None:
    """What an operation is called in its event; None when it has no id and was given none."""
    if step.operation_id is not None:
        return step.operation_id
    return None if operation.id is UNSET else operation.id
