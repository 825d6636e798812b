"""Ask an agent that can do nothing by itself: one run after another, each to its last message (O15, I17)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NamedTuple, TypeAlias

import trio
from msgspec.structs import replace

from codex_adapter import AdapterError, BackendError, Completion, Event, RunCancelled, RunHandle, RunRequest
from codex_adapter.events import ToolCall
from codex_adapter.records import in_pieces
from codex_adapter.text import TextAssembler
from codex_adapter.workspace import WorkspaceError, empty_directory, outside_environment

__all__ = ["Asked", "Asking", "OpenRun", "ToolUsed"]

OpenRun: TypeAlias = Callable[[RunRequest], AbstractAsyncContextManager[RunHandle]]
"""Opens a run of the agent, as `CodexBackend.open_run` does."""

_HELD: Final[Mapping[str, Any]] = {
    "agent_api.exec.non_interactive": True,
    "backend.codex.exec.sandbox_mode": "read-only",
    "backend.codex.tools": "none",
}
"""The agent has nothing but words: whatever it reads, changes or runs is an operation or a command of its answer."""
_NO_REPOSITORY: Final = {"GIT_DIR": os.devnull}


class Asked(NamedTuple):
    """How a run ended, and what its agent said last, if it went well: nothing where it said nothing."""

    outcome: Completion | AdapterError
    text: str | None


class ToolUsed(BackendError):
    """The agent used a tool of its own, which no policy and no audit governs."""

    def __init__(self, kind: str) -> None:
        advice = f"The agent used a tool of its own ({kind}). Take the tool out of the configuration of the CLI."
        super().__init__("invalid_request", advice=advice)


class Asking:
    """Runs of an agent, one at a time.

    Each is in an empty directory of its own, finds no repository, and looks up no program in the workspace.
    """

    def __init__(self, open_run: OpenRun) -> None:
        self._open_run = open_run
        self._run: RunHandle | None = None
        self._scope = trio.CancelScope()

    def cancel(self) -> None:
        """End the run under way in order."""
        if self._run is None:
            self._scope.cancel()
        else:
            self._run.cancel()

    def kill(self) -> None:
        """End it at once."""
        if self._run is None:
            self._scope.cancel()
        else:
            self._run.kill()

    async def ask(
        self, request: RunRequest, tell: Callable[[Sequence[Event]], Awaitable[object]], workspace: str
    ) -> Asked:
        """Run `request` to its end, steered by nothing in `workspace`.

        `tell` receives the events, never more at once than can be encoded in one piece.

        What `tell` raises ends the run and passes through.
        """
        texts = TextAssembler()
        outcome: Completion | AdapterError = RunCancelled("cancelled")
        with trio.CancelScope() as self._scope:
            try:
                with empty_directory(workspace) as directory:
                    async with self._open_run(_held(request, directory, workspace)) as run:
                        try:
                            self._run = run
                            await _forward(run, texts, tell)
                            outcome = await run.wait_completed()
                        finally:
                            self._run = None
            except AdapterError as error:
                outcome = error
            except WorkspaceError as error:
                outcome = BackendError("io", advice=f"{error.text}.")
        return Asked(outcome, _text(outcome, texts))


def _held(request: RunRequest, directory: str, workspace: str) -> RunRequest:
    env = outside_environment({**os.environ, **request.env}, workspace)
    asked = {name: value for name, value in env.items() if name in request.env or os.environ.get(name) != value}
    return replace(
        request,
        working_dir=directory,
        env=asked | _NO_REPOSITORY,
        extensions={**request.extensions, **_HELD},
    )


async def _forward(run: RunHandle, texts: TextAssembler, tell: Callable[[Sequence[Event]], Awaitable[object]]) -> None:
    async for batch in run.events.batches():
        for events in in_pieces(batch):
            await tell(events)
        for event in batch:
            texts.receive(event)
            if event.kind == "tool_call" and isinstance(event.data, ToolCall):
                raise ToolUsed(event.data.tool.kind)


def _text(outcome: Completion | AdapterError, texts: TextAssembler) -> str | None:
    if not isinstance(outcome, Completion) or not outcome.status.success or outcome.turn != "completed":
        return None
    return texts.last_message or outcome.final_text or ""
