"""Define the states of a step of a batch: ready, in need of a decision, a command to run, or finished."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import UNSET

from codex_adapter.protocols.operations.events import OperationEvent
from codex_adapter.protocols.operations.judging import NeedsApproval
from codex_adapter.protocols.operations.messages import Status
from codex_adapter.protocols.operations.operations import Operation, ShellOperation
from codex_adapter.protocols.operations.store import Batch, Intent, Step

__all__ = ["CommandToRun", "NeedsDecision", "Outcome", "Paused", "Ready", "name_of"]


class Outcome(NamedTuple):
    """The event of an operation. `operation` is None if it is invalid. If `halts`, no later operation is executed."""

    step: Step
    event: OperationEvent
    operation: Operation | None
    halts: bool = False


class CommandToRun(NamedTuple):
    """A command that the caller runs now. It is recorded as begun."""

    step: Step
    operation: ShellOperation
    operation_id: str | None


class Paused(NamedTuple):
    """A batch that does not continue by itself. `status` is None after a stop signal."""

    batch: Batch
    status: Status | None


class Ready(NamedTuple):
    """An operation that may be executed."""

    step: Step
    operation: Operation
    intent: Intent | None


class NeedsDecision(NamedTuple):
    """An operation that needs a person's decision."""

    step: Step
    operation: Operation
    verdict: NeedsApproval


def name_of(step: Step, operation: Operation) -> str | None:
    """Return the id of an operation in its event; None without an id."""
    if step.operation_id is not None:
        return step.operation_id
    return None if operation.id is UNSET else operation.id
