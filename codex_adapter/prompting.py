"""Run an agent that can only answer: one run after another, each until its last message (O15, I17)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import trio
from msgspec.structs import replace

from codex_adapter import AdapterError, BackendError, Completion, Event, RunCancelled, RunHandle, RunRequest
from codex_adapter.events import ToolCall
from codex_adapter.records import split_batch
from codex_adapter.text import TextAssembler
from codex_adapter.workspace import WorkspaceError, create_empty_directory, isolate_environment, name_empty_directory

__all__ = ["AgentPrompter", "AgentReply", "OnEvents", "OpenRun", "PromptedAgent", "ToolUsed"]

OpenRun: TypeAlias = Callable[[RunRequest], AbstractAsyncContextManager[RunHandle]]
"""A function that opens a run of the agent."""
OnEvents: TypeAlias = Callable[[Sequence[Event]], Awaitable[object]]
"""A receiver of a run's events. An error that it raises ends the run and propagates."""

_NO_REPOSITORY: Final = {"GIT_DIR": os.devnull}


class PromptedAgent(Protocol):
    """The part of an agent that a prompter uses to change requests."""

    @property
    def kind(self) -> str:
        """The agent kind (G1)."""

    def restricted(self, request: RunRequest) -> RunRequest:
        """Return the request of a run that is read-only, never asks and has no tools."""

    def with_schema(self, request: RunRequest, schema: Mapping[str, Any]) -> RunRequest:
        """Return the request of a run whose last message is JSON of this schema."""

    def resume(self, request: RunRequest, session_id: str) -> RunRequest:
        """Return the request of a run that continues a session."""


class AgentReply(NamedTuple):
    """The outcome of a run and its last message: None if the run failed, empty if it had no message."""

    outcome: Completion | AdapterError
    text: str | None


class ToolUsed(BackendError):
    """The agent used one of its own tools, which no policy and no audit governs."""

    def __init__(self, kind: str) -> None:
        advice = f"The agent used its own tool ({kind}). Remove the tool from the configuration of the CLI."
        super().__init__("invalid_request", advice=advice)


class AgentPrompter:
    """A runner of one agent, with one prompt at a time.

    Each run works in the same directory, which is empty, finds no repository, and looks up no program in the workspace.
    The directory has one path for all runs, because an agent may find a session only where it began (O18).
    """

    def __init__(self, agent: PromptedAgent, open_run: OpenRun) -> None:
        self._agent = agent
        self._open_run = open_run
        self._directory = name_empty_directory()
        self._run: RunHandle | None = None
        self._scope = trio.CancelScope()

    def cancel(self) -> None:
        """End the current run gracefully."""
        if self._run is None:
            self._scope.cancel()
        else:
            self._run.cancel()

    def kill(self) -> None:
        """End the current run at once."""
        if self._run is None:
            self._scope.cancel()
        else:
            self._run.kill()

    async def prompt(self, request: RunRequest, on_events: OnEvents, workspace: str) -> AgentReply:
        """Run `request` to its end. Nothing in `workspace` influences the run.

        `on_events` receives the events, in batches that can be encoded in one piece.
        """
        texts = TextAssembler()
        outcome: Completion | AdapterError = RunCancelled("cancelled")
        with trio.CancelScope() as self._scope:
            try:
                with create_empty_directory(workspace, self._directory) as directory:
                    isolated = _isolate(self._agent.restricted(request), directory, workspace)
                    async with self._open_run(isolated) as run:
                        try:
                            self._run = run
                            await _forward(run, texts, on_events)
                            outcome = await run.wait_completed()
                        finally:
                            self._run = None
            except AdapterError as error:
                outcome = error
            except WorkspaceError as error:
                outcome = BackendError("io", advice=f"{error.text}.")
        if isinstance(outcome, BackendError):
            outcome.of_agent(self._agent.kind)
        return AgentReply(outcome, _text(outcome, texts))


def _isolate(request: RunRequest, directory: str, workspace: str) -> RunRequest:
    """Return the request of a run in `directory` that looks up nothing in `workspace` (H15)."""
    env = isolate_environment({**os.environ, **request.env}, workspace)
    changed = {name: value for name, value in env.items() if name in request.env or os.environ.get(name) != value}
    return replace(request, working_dir=directory, env=changed | _NO_REPOSITORY)


async def _forward(run: RunHandle, texts: TextAssembler, on_events: OnEvents) -> None:
    async for batch in run.events.batches():
        for events in split_batch(batch):
            await on_events(events)
        for event in batch:
            texts.receive(event)
            if event.kind == "tool_call" and isinstance(event.data, ToolCall):
                raise ToolUsed(event.data.tool.kind)


def _text(outcome: Completion | AdapterError, texts: TextAssembler) -> str | None:
    if not isinstance(outcome, Completion) or not outcome.status.success or outcome.turn != "completed":
        return None
    return texts.last_message or outcome.final_text or ""
