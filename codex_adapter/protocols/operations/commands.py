"""Run the commands of operations in the workspace, and return their events (O8, O13)."""

from __future__ import annotations

from typing import Final

import trio
from msgspec import UNSET

from codex_adapter.protocols.operations.event_factory import EventFactory
from codex_adapter.protocols.operations.events import LeftOut, OperationEvent
from codex_adapter.protocols.operations.operations import ShellOperation
from codex_adapter.protocols.operations.policy import Policy
from codex_adapter.workspace import CommandResult, Containment, Sandbox, Workspace, WorkspaceError, run_command

__all__ = ["CommandRunner"]

_STOPPED: Final = "The runtime received a stop signal; the command was killed"


class CommandRunner:
    """A runner of shell commands, in `containment`, and in `sandbox` if it is not None."""

    def __init__(
        self,
        workspace: Workspace,
        policy: Policy,
        sandbox: Sandbox | None,
        outcomes: EventFactory,
        containment: Containment,
    ) -> None:
        self._workspace = workspace
        self._policy = policy
        self._sandbox = sandbox
        self._events = outcomes
        self._containment = containment
        self._running = trio.CancelScope()
        self._stopped = False

    def stop(self) -> None:
        """Kill the current command, and start no other."""
        self._stopped = True
        self._running.cancel()

    async def run(self, operation: ShellOperation, operation_id: str | None) -> OperationEvent:
        """Run a command and return its event. Raises `WorkspaceError` for a failure of the machine."""
        result: CommandResult | None = None
        with trio.CancelScope() as self._running:
            if self._stopped:
                self._running.cancel()
            try:
                result = await run_command(
                    self._workspace,
                    operation.command,
                    cwd=operation.cwd,
                    env=operation.env,
                    timeout=operation.timeout / 1000,
                    sandbox=self._sandbox,
                    network=self._policy.network.allow,
                    keep=self._policy.shell.keep,
                    containment=self._containment,
                )
            except WorkspaceError as error:
                if error.system:
                    raise
                return self._events.failed(operation, operation_id, error.text)
        if result is None:
            return self._events.failed(operation, operation_id, _STOPPED)
        return self._events.done(operation, operation_id, **self._members(result))

    def _members(self, result: CommandResult) -> dict[str, object]:
        left_out = LeftOut(stdout=result.stdout.left_out or UNSET, stderr=result.stderr.left_out or UNSET)
        return {
            "success": result.exit_code == 0,
            "exit_code": result.exit_code,
            "stdout": result.stdout.text(),
            "stderr": result.stderr.text(),
            "left_out": left_out if left_out != LeftOut() else UNSET,
            "duration_ms": result.duration_ms,
            "timed_out": result.timed_out or UNSET,
            "sandbox": "none" if self._sandbox is None else "bubblewrap",
        }
