"""Define the seam between turns and agents: a harness names its models and runs an agent in an environment (U5, U9)."""

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

    `directory` is the conversation's own and kept from turn to turn; the harness keeps its files there. `model` is one
    of the harness's models, None for the harness's choice. `session` is the key of the conversation to resume, None for
    a new one.
    """

    environment: Environment
    directory: Path
    cwd: str
    prompt: str
    model: str | None = None
    session: str | None = None
    env: Mapping[str, str]
    attachments: tuple[str, ...] = ()

    @override
    def __repr__(self) -> str:
        """Show nothing: it may be secret (X1)."""
        return "HarnessTurn(...)"


class Harness(Protocol):
    """One kind of agent, as it is installed on this machine."""

    @property
    def id(self) -> str:
        """Return the name by which requests choose it."""

    async def check(self) -> None:
        """Check that the agent is installed and can run a turn. Raises `TurnError` with the next step."""

    async def models(self) -> tuple[str, ...] | None:
        """Return its models as `provider/name`, its own choice first; None if it does not work or cannot list now."""

    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the directories in which the agent of such a turn may write; none if nothing confines it.

        `env` are the request's variables. Blocks; raises `TurnError` (Z11).
        """

    def open(self, turn: HarnessTurn) -> AbstractAsyncContextManager[RunHandle]:
        """Open the run of a turn. Entering raises `TurnError`, and `AdapterError` as runs do."""

    def failure(self, outcome: Completion | AdapterError) -> AgentSpacesError | None:
        """Return why a run failed, None if it went well."""
