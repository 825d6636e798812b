"""Run the turns of an agent: one run for each turn, with one home for each conversation (U5, U9)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Generic, TypeVar

import trio

from codex_adapter import AdapterError, AgentBackend, Completion, RunConfig, RunHandle, RunRequest
from codex_adapter.agent import Agent
from codex_adapter.file_systems import work_through
from codex_adapter.harness.conversation_home import ConversationHome
from codex_adapter.harness.failures import failure
from codex_adapter.harness.installation import Installation, Installed
from codex_adapter.harness.interface import HarnessTurn
from codex_adapter.spaces import Environment
from codex_adapter.turn_errors import AgentSpacesError, TurnError

__all__ = ["AgentHarness"]

HomeT = TypeVar("HomeT", bound=ConversationHome)
UserT = TypeVar("UserT")


class AgentHarness(ABC, Generic[HomeT, UserT]):
    """The part of a harness that all agents share. It implements `Harness`.

    It runs any number of turns concurrently, but only one for each conversation. `HomeT` is the home of a
    conversation, which `home` returns for a turn's directory. `UserT` is what a turn uses of the user's own files.
    """

    def __init__(
        self, agent: Agent, config: RunConfig, installation: Installation, home: Callable[[Path], HomeT]
    ) -> None:
        self._agent = agent
        # All turns share one backend, because it remembers the level of containment.
        self._backend = AgentBackend(agent, config)
        self._installation = installation
        self._home = home

    @abstractmethod
    def read_user(self) -> UserT:
        """Read the user's own files for a run that sets no variables. Block on files, and raise `TurnError` (U9)."""

    @abstractmethod
    def rank(self, listed: Sequence[str], user: UserT) -> Iterable[str]:
        """Return the listed models as `PROVIDER/NAME`, the user's first. A model can occur twice. (U5)"""

    @abstractmethod
    def prepare(self, turn: HarnessTurn, env: Mapping[str, str], home: HomeT, installed: Installed) -> RunRequest:
        """Check the turn, write its home, and return its request. Block on files, and raise `TurnError`. (U9)

        `env` are the variables of the environment and the turn.
        """

    @abstractmethod
    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """Implement `Harness.writable`."""

    @property
    def id(self) -> str:
        """Return the name of the harness in requests."""
        return str(self._agent.harness_id)

    async def check(self) -> None:
        """Raise `TurnError` if the CLI is not installed or does not run, or if its settings cannot be read (U5)."""
        if not await self._installation.works():
            name = self._agent.name[:1].upper() + self._agent.name[1:]
            advice = f"Run `codex-adapter doctor --agent {self._agent.kind}` for the next step."
            raise TurnError(f"{name} is not installed or does not work. {advice}")
        await self._read_user()

    async def models(self) -> tuple[str, ...] | None:
        """Return the models that the CLI lists as `PROVIDER/NAME`, the user's first; None if it cannot now (U5)."""
        listed = await self._installation.models()
        if listed is None:
            return None
        try:
            user = await self._read_user()
        except TurnError:
            return None
        return tuple(dict.fromkeys(self.rank(listed, user)))

    @asynccontextmanager
    async def open(self, turn: HarnessTurn) -> AsyncIterator[RunHandle]:
        """Open the run of a turn. Raise `TurnError` before the start, OSError, or the errors of a run (U9)."""
        env = {**turn.environment.env, **turn.env}
        installed = await self._installation.find(env)
        home = self._home(turn.directory)
        with home.exclusive():
            request = await work_through(self.prepare, turn, env, home, installed)
            async with self._backend.open_run(request, mask_env=turn.server_env) as run:
                yield run

    def failure(self, outcome: Completion | AdapterError) -> AgentSpacesError | None:
        """Return why a run failed, or None (U6)."""
        return failure(outcome, self._agent.name)

    async def _read_user(self) -> UserT:
        # A read of a few megabytes can take minutes. An abandoned read has no effect.
        return await trio.to_thread.run_sync(self.read_user, abandon_on_cancel=True)
