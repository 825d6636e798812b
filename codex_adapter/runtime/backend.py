"""Open runs of an agent (Q, K5)."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

import trio
from msgspec.structs import replace

from codex_adapter.agent import Agent
from codex_adapter.core.checks import is_seconds
from codex_adapter.core.masking.credentials import secret_values
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.core.request_checks import check_environment, check_type, effective_idle_timeout, effective_timeout
from codex_adapter.errors import BackendError, RunTimedOut, SpawnError
from codex_adapter.file_systems import advice_on, unanswered
from codex_adapter.request import RunConfig, RunRequest
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.runtime.containment.marks import new_mark
from codex_adapter.runtime.event_loop import require_trio
from codex_adapter.runtime.handle import RunHandle, RunSetup, live_run
from codex_adapter.runtime.process import spawn
from codex_adapter.runtime.run import Run

__all__ = ["NO_VARIABLES", "AgentBackend", "Backend"]

NO_VARIABLES: Final[Mapping[str, str]] = MappingProxyType({})

_Result = TypeVar("_Result")

_SHORTEST_UNANSWERED: Final = 1.0
"""The time limit in seconds from which an unanswered file system counts as the cause of a timeout."""


class Backend(Protocol):
    """An opener of runs of one agent kind, which a gateway can hold."""

    @property
    def agent_kind(self) -> str:
        """The agent kind that requests name (G1)."""

    @property
    def capabilities(self) -> frozenset[str]:
        """The supported capability ids, extension keys among them (G3)."""

    def open_run(self, request: RunRequest) -> AbstractAsyncContextManager[RunHandle]:
        """Open a run, like `codex_adapter.open_run`."""

    async def check(self, request: RunRequest) -> RunSetup | None:
        """Return where and with what a run of the request would work; None if this process does not know.

        Raise the errors of `open_run` that need no start (Q).
        """


class AgentBackend:
    """A backend for one agent and one configuration, with any number of runs at once.

    `containment` contains its runs. None creates one for the level that the configuration demands. With `ask_release`
    the agent is asked for its release before a run, for `RunHandle.setup` (N3).
    """

    def __init__(
        self,
        agent: Agent,
        config: RunConfig | None = None,
        *,
        containment: Containment | None = None,
        ask_release: bool = False,
    ) -> None:
        self._agent = agent
        self._config = agent.config_type() if config is None else config
        self._ask_release = ask_release
        self._containment = containment

    @property
    def agent_kind(self) -> str:
        """The agent's kind."""
        return self._agent.kind

    @property
    def capabilities(self) -> frozenset[str]:
        """The agent's capability ids (G3)."""
        return self._agent.capabilities

    @asynccontextmanager
    async def open_run(
        self, request: RunRequest, *, mask_env: Mapping[str, str] = NO_VARIABLES
    ) -> AsyncIterator[RunHandle]:
        """Start a run; return an async context manager of its handle, like `codex_adapter.open_run`."""
        require_trio()
        check_type(request)
        check_environment("mask_env", mask_env)
        limit = effective_timeout(request, self._config)
        async with AsyncExitStack() as held:
            with trio.move_on_after(math.inf if limit is None or not is_seconds(limit) else limit) as opening:
                run = await self._of_this_agent(self._start(request, held, mask_env))
            if opening.cancelled_caught:
                role = unanswered()
                unresponsive = role is not None and limit is not None and limit >= _SHORTEST_UNANSWERED
                advice = advice_on(str(role), "did not answer before the time limit") if unresponsive else None
                error = RunTimedOut("timeout", advice=advice, hint=None if unresponsive else "time_limit")
                raise error.of_agent(self._agent.kind, self._agent.advice)
            async with live_run(run) as handle:
                yield handle

    async def check(self, request: RunRequest) -> RunSetup:
        """Check all of the request, and find the program. Do not ask for its release (Q1 to Q7, S6)."""
        require_trio()
        checked = await self._of_this_agent(self._agent.check(request, self._config))
        # Made at the first use: without a journal it is never used.
        masker = cache(lambda: Masker(checked.secrets))
        return RunSetup(checked.cwd, checked.model, None, lambda text, limit: masker().mask_and_cut(text, limit))

    async def containment_level(self) -> str | None:
        """Return the level at which a run would be contained now; None if no demanded level works (N1, N3)."""
        require_trio()
        self._containment = self._containment or Containment.of(self._config)
        try:
            return await self._containment.try_out(os.environ)
        except (OSError, SpawnError):
            return None

    async def _of_this_agent(self, work: Awaitable[_Result]) -> _Result:
        try:
            return await work
        except BackendError as error:
            error.of_agent(self._agent.kind, self._agent.advice)
            raise

    async def _start(self, request: RunRequest, held: AsyncExitStack, mask_env: Mapping[str, str]) -> Run:
        """Start the agent of a request and return its run. Data that only the start needs is not kept."""
        config = self._config
        begun = trio.current_time()
        mark = new_mark()
        prepared = self._agent.prepare(request, config, mark=mark, ask_release=self._ask_release)
        launch = await held.enter_async_context(prepared)
        if self._containment is None:
            # Not earlier: the configuration must be checked first.
            self._containment = Containment.of(config)
        source = await spawn(launch, mark=mark, stop_timeout=config.stop_timeout, containment=self._containment)
        secrets = (*launch.secrets, *secret_values(mask_env, directory=launch.cwd).values)
        pipeline = Pipeline(
            launch.decoder,
            secrets=secrets,
            max_line_bytes=config.max_line_bytes,
            advice=self._agent.advice,
            answer_schema=launch.answer_schema,
        )
        timeout = launch.timeout
        if timeout is not None:
            timeout = max(timeout - (trio.current_time() - begun), 0.0)
        return Run(
            source,
            pipeline,
            config=replace(config, idle_timeout=effective_idle_timeout(config, launch.timeout)),
            timeout=timeout,
            session=launch.session,
            containment=source.level,
            setup=RunSetup(launch.cwd, launch.model, launch.release, pipeline.mask),
        )
