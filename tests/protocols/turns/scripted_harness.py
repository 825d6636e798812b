"""Provide a harness whose agent is a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from codex_adapter import AdapterError, CodexConfig, Completion, RunHandle, RunRequest, open_run
from codex_adapter.harness import HarnessTurn
from codex_adapter.protocols.turns.messages import AgentSpacesError
from codex_adapter.spaces import Environment
from codex_adapter.testing import Exit, PrintJson, ReadPrompt, Step, write_agent
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started
from codex_adapter.turn_errors import TurnError

__all__ = ["FAILING", "MODELS", "ScriptedHarness", "saying"]

MODELS = ("house/large", "house/small")


def saying(*steps: Step, thread: str = "0199a213-81c0-7800-8aa1-bbab2a035a53") -> list[Step]:
    """An agent whose turn goes well, with these steps in it."""
    begin: list[Step] = [ReadPrompt(), PrintJson(thread_started(thread)), PrintJson(turn_started())]
    return [*begin, *steps, PrintJson(turn_completed())]


class ScriptedHarness:
    """Plays a script for each turn, and keeps what it was asked."""

    def __init__(self, directory: Path, *scripts: list[Step], id: str = "scripted") -> None:
        self.id = id
        self.installed = True
        self.names: tuple[str, ...] | None = MODELS
        self.turns: list[HarnessTurn] = []
        self.asked = trio.Event()
        self._directory = directory
        self._scripts: list[list[Step]] = list(scripts)
        if not scripts:
            self._scripts.append(saying(PrintJson(agent_message("item_0", "Done."))))

    async def check(self) -> None:
        """As `Harness.check`."""
        if not self.installed:
            raise TurnError("there is no such agent; install it")

    async def models(self) -> tuple[str, ...] | None:
        """As `Harness.models`."""
        return self.names if self.installed else None

    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """As `Harness.writable`."""
        return (cwd,) if environment.permissions in (None, "workspace-write") else ()

    @asynccontextmanager
    async def open(self, turn: HarnessTurn) -> AsyncIterator[RunHandle]:
        """As `Harness.open`."""
        number = len(self.turns)
        self.turns.append(turn)
        self.asked.set()
        steps = self._scripts[min(number, len(self._scripts) - 1)]
        binary = write_agent(self._directory / f"agent-{self.id}-{number}", steps)
        extensions = {"backend.codex.tool_payloads": "full"}
        request = RunRequest(prompt=turn.prompt, working_dir=turn.cwd, env=turn.env, extensions=extensions)
        async with open_run(request, config=CodexConfig(binary=str(binary))) as run:
            yield run

    def failure(self, outcome: Completion | AdapterError) -> AgentSpacesError | None:
        """As `Harness.failure`."""
        if isinstance(outcome, Completion) and outcome.status.success and outcome.turn == "completed":
            return None
        return AgentSpacesError(message="the script did not go well")


FAILING: list[Step] = [ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()), Exit(3)]
