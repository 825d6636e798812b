"""What a harness is to the rest: models, and runs in an environment; the rest of one stays in its folder (U5, U9)."""

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
    """One turn, as a harness gets it.

    `directory` is the session's own, kept from turn to turn, where the harness keeps what is its own. `model` is one of
    its models, None for its own choice. `session` is the key of the conversation that goes on, None for a new one.
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
    """One kind of agent, as it is installed here."""

    @property
    def id(self) -> str:
        """By which it is asked for."""

    async def check(self) -> None:
        """See that it is installed, and can be asked for a turn. Raises `TurnError`, which says what to do."""

    async def models(self) -> tuple[str, ...] | None:
        """Its models, `provider/name`, its own choice first; None where it does not work, or cannot tell now."""

    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the directories in which the agent of such a turn may write; none where nothing confines it (Z11).

        `env` are the request's variables. Blocks; raises `TurnError`.
        """

    def open(self, turn: HarnessTurn) -> AbstractAsyncContextManager[RunHandle]:
        """The run of a turn. Entering raises `TurnError`, and AdapterError as runs do."""

    def failure(self, outcome: Completion | AdapterError) -> AgentSpacesError | None:
        """Why a run did not go well; None where it did."""
