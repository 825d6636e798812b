"""The agent's side of its work: runs in one session that answer with operations, and change nothing else (O15)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeAlias

import trio
from msgspec.structs import replace

from codex_adapter import AdapterError, Completion, RunCancelled, RunHandle, RunRequest
from codex_adapter.last_message import LastMessage
from codex_adapter.protocols.operations.agent_records import Records
from codex_adapter.protocols.operations.strict_schema import agent_schema
from codex_adapter.records import in_pieces

__all__ = ["AgentSession", "OpenRun"]

OpenRun: TypeAlias = Callable[[RunRequest], AbstractAsyncContextManager[RunHandle]]
"""Opens a run of the agent, as `CodexBackend.open_run` does."""

_MUCH_TEXT: Final = 1024 * 1024
_SCHEMA: Final = "backend.codex.output_schema"
_RESUME: Final = "agent_api.session.resume.v1"
_HELD: Final[Mapping[str, Any]] = {
    "agent_api.exec.non_interactive": True,
    "backend.codex.exec.sandbox_mode": "read-only",
}
"""Whatever it changes or runs is an operation."""


class AgentSession:
    """Runs that go on with one another, each as `request` says, with another prompt; their records go to `write`."""

    def __init__(
        self, open_run: OpenRun, request: RunRequest, records: Records, write: Callable[[bytes], Awaitable[object]]
    ) -> None:
        self._open_run = open_run
        self._request = request
        self._records = records
        self._write = write
        self._run: RunHandle | None = None
        self._scope = trio.CancelScope()
        self.id: str | None = None
        """By which it can be gone on with; None until the agent has told it."""
        self.outcome: Completion | AdapterError | None = None
        """That of the last run."""

    def cancel(self) -> None:
        """End the run under way in order."""
        if self._run is None:
            self._scope.cancel()
        else:
            self._run.cancel()

    def kill(self) -> None:
        """End the run under way at once."""
        if self._run is None:
            self._scope.cancel()
        else:
            self._run.kill()

    async def turn(self, prompt: str) -> str | None:
        """A run with this prompt: the agent's last message, whole; None when the run did not go well."""
        message = LastMessage()
        outcome: Completion | AdapterError = RunCancelled("cancelled")
        with trio.CancelScope() as self._scope:
            try:
                async with self._open_run(self._asked(prompt)) as run:
                    try:
                        self._run = run
                        await self._forward(run, message)
                        outcome = await run.wait_completed()
                    finally:
                        self._run = None
            except AdapterError as error:
                outcome = error
        self.outcome = outcome
        await self._write(self._records.run_ended(outcome))
        if not isinstance(outcome, Completion):
            return None
        self.id = outcome.session_id or self.id
        if not outcome.status.success or outcome.turn != "completed":
            return None
        return message.text or outcome.final_text or ""

    def _asked(self, prompt: str) -> RunRequest:
        extensions = {**self._request.extensions, **_HELD, _SCHEMA: agent_schema()}
        if self.id is not None:
            extensions[_RESUME] = {"selector": "id", "id": self.id}
        return replace(self._request, prompt=prompt, extensions=extensions)

    async def _forward(self, run: RunHandle, message: LastMessage) -> None:
        while True:
            try:
                batch = await run.events.receive_batch()
            except trio.EndOfChannel:
                return
            message.take(batch)
            for events in in_pieces(batch, _MUCH_TEXT):
                await self._write(self._records.run_events(events))
