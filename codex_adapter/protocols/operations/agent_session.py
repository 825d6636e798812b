"""Run the agent of a piece of work, in one session that answers with operations (O15)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec.structs import replace

from codex_adapter import AdapterError, Completion, Event, RunRequest
from codex_adapter.prompting import Asking, OpenRun
from codex_adapter.protocols.operations.agent_records import Records
from codex_adapter.protocols.operations.strict_schema import agent_schema

__all__ = ["AgentSession"]

_SCHEMA: Final = "backend.codex.output_schema"
_RESUME: Final = "agent_api.session.resume.v1"


class AgentSession:
    """Runs that go on with one another, each as `request` says, with another prompt; their records go to `write`."""

    def __init__(
        self, open_run: OpenRun, request: RunRequest, records: Records, write: Callable[[bytes], Awaitable[object]]
    ) -> None:
        self._asking = Asking(open_run)
        self._request = request
        self._workspace = request.working_dir or "."
        self._records = records
        self._write = write
        self.cancel = self._asking.cancel
        self.kill = self._asking.kill
        self.id: str | None = None
        """By which it can be gone on with; None until the agent has told it."""
        self.outcome: Completion | AdapterError | None = None
        """That of the last run."""

    async def turn(self, prompt: str) -> str | None:
        """A run with this prompt: the agent's last message, whole; None when the run did not go well."""
        self.outcome, text = await self._asking.ask(self._asked(prompt), self._tell, self._workspace)
        await self._write(self._records.run_ended(self.outcome))
        if isinstance(self.outcome, Completion):
            self.id = self.outcome.session_id or self.id
        return text

    async def _tell(self, events: Sequence[Event]) -> None:
        await self._write(self._records.run_events(events))

    def _asked(self, prompt: str) -> RunRequest:
        extensions = {**self._request.extensions, _SCHEMA: agent_schema()}
        if self.id is not None:
            extensions[_RESUME] = {"selector": "id", "id": self.id}
        return replace(self._request, prompt=prompt, extensions=extensions)
