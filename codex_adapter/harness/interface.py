"""Define the interface for harnesses: a harness lists models and runs an agent in an environment (U5, U9)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import msgspec
from typing_extensions import override

from codex_adapter import AdapterError, Completion, RunHandle
from codex_adapter.spaces import Environment
from codex_adapter.turn_errors import AgentSpacesError

__all__ = ["Harness", "HarnessTurn"]


class HarnessTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, as a harness receives it.

    `directory` belongs to the conversation, and each of its turns gets the same one. The harness stores its files
    there. `model` is one of the harness's models, None for the harness's choice. `session` is the key of the
    conversation to resume, None for a new one.
    """

    environment: Environment
    directory: Path
    cwd: str
    prompt: str
    model: str | None = None
    session: str | None = None
    env: Mapping[str, str]
    attachments: tuple[str, ...] = ()

    @property
    def server_env(self) -> dict[str, str]:
        """The variables of all MCP servers: the agent can read them in its settings, so they are masked (U10).

        A name with several values occurs once for each server.
        """
        found: dict[str, str] = {}
        for server in self.environment.servers:
            for name, value in server.env.items():
                found[name if found.get(name, value) == value else f"{name}_{server.name}"] = value
        return found

    @override
    def __repr__(self) -> str:
        """Show nothing: it may be secret (X1)."""
        return "HarnessTurn(...)"


class Harness(Protocol):
    """One kind of agent that is installed on this machine."""

    @property
    def id(self) -> str:
        """The name by which requests choose this harness."""

    async def check(self) -> None:
        """Check that the agent is installed and can run a turn. Raises `TurnError` with the next step."""

    async def models(self) -> tuple[str, ...] | None:
        """Return the models as `provider/name`, the default first; None if the agent cannot list them now."""

    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the directories in which the agent of such a turn may write; empty if nothing confines the agent.

        `env` are the request's variables. Blocks on files. Raises `TurnError` (Z11).
        """

    def open(self, turn: HarnessTurn) -> AbstractAsyncContextManager[RunHandle]:
        """Open the run of a turn. On entry, the context raises `TurnError`, or `AdapterError` as a run does."""

    def failure(self, outcome: Completion | AdapterError) -> AgentSpacesError | None:
        """Return why a run failed; None if it succeeded."""
