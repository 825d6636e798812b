"""Run an agent in one session, in which it answers with operations (O15)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from codex_adapter import AdapterError, Completion, Event, RunRequest
from codex_adapter.prompting import AgentPrompter, OpenRun, PromptedAgent
from codex_adapter.protocols.operations.agent_records import RecordEncoder
from codex_adapter.protocols.operations.strict_schema import agent_schema

__all__ = ["AgentSession"]


class AgentSession:
    """The runs of one session: `request` with a new prompt each time. `write` receives their records."""

    def __init__(
        self,
        agent: PromptedAgent,
        open_run: OpenRun,
        request: RunRequest,
        records: RecordEncoder,
        write: Callable[[bytes], Awaitable[object]],
    ) -> None:
        self._agent = agent
        self._prompter = AgentPrompter(agent, open_run)
        self._request = request
        self._workspace = request.working_dir or "."
        self._records = records
        self._write = write
        self.cancel = self._prompter.cancel
        self.kill = self._prompter.kill
        self.id: str | None = None
        """The session id; None until the agent has reported it."""
        self.outcome: Completion | AdapterError | None = None
        """The outcome of the last run."""

    async def turn(self, prompt: str) -> str | None:
        """Run the agent with a prompt. Return its last message, or None if the run failed."""
        self.outcome, text = await self._prompter.prompt(self._request_of(prompt), self._write_events, self._workspace)
        await self._write(self._records.run_ended(self.outcome))
        if isinstance(self.outcome, Completion):
            self.id = self.outcome.session_id or self.id
        return text

    async def _write_events(self, events: Sequence[Event]) -> None:
        await self._write(self._records.run_events(events))

    def _request_of(self, prompt: str) -> RunRequest:
        request = self._agent.with_schema(replace(self._request, prompt=prompt), agent_schema())
        return request if self.id is None else self._agent.resume(request, self.id)
