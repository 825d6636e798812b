"""How runs are opened: `open_run`, `open_replay`, `collect`, a backend, and a gateway of backends (Q, G, K5)."""

from __future__ import annotations

import math
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache
from types import MappingProxyType
from typing import Final, Protocol

import trio
from msgspec.structs import replace

from codex_adapter.agents.codex.binary import Versions, find_binary
from codex_adapter.agents.codex.command import merge_environment
from codex_adapter.agents.codex.extensions import CAPABILITIES
from codex_adapter.agents.codex.launch import Launch, check_launch, prepare_launch
from codex_adapter.agents.codex.mount_targets import mount_targets_removed
from codex_adapter.agents.codex.releases import Version
from codex_adapter.agents.codex.run_secrets import run_secrets
from codex_adapter.agents.codex.schema_file import schema_file
from codex_adapter.agents.codex.session import SessionExpectation
from codex_adapter.agents.codex.session_file import usage_before
from codex_adapter.agents.codex.validation import (
    check_environment,
    check_type,
    effective_idle_timeout,
    effective_timeout,
)
from codex_adapter.core.checks import is_seconds
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.errors import (
    InvalidAgentKindError,
    InvalidRequestError,
    RunTimedOut,
    SpawnError,
    UnknownBackendError,
)
from codex_adapter.events import AGENT_KIND, Completion, ExitStatus
from codex_adapter.file_systems import advice_on, inquire, unanswered
from codex_adapter.request import CodexConfig, RunRequest
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.runtime.containment.marks import new_mark
from codex_adapter.runtime.event_loop import require_trio
from codex_adapter.runtime.handle import RunHandle, RunSetup, carried
from codex_adapter.runtime.process import spawn
from codex_adapter.runtime.replay import open_recording
from codex_adapter.runtime.run import Run

__all__ = ["Backend", "CodexBackend", "Gateway", "collect", "open_replay", "open_run"]

_TELLING: Final = 1.0
"""Seconds: a shorter time limit passes on a healthy file system as well."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


def open_run(
    request: RunRequest, *, config: CodexConfig | None = None, mask_env: Mapping[str, str] = _NOTHING
) -> AbstractAsyncContextManager[RunHandle]:
    """One run of the Codex CLI, as an async context manager that gives its handle.

    `mask_env` are variables that the run does not have, but a process that it starts: they are masked as the run's own
    are (X5).

    Entering checks the request and starts the agent; it raises `InvalidRequestError`, `UnsupportedCapabilityError` or
    `BackendError`, and then nothing was left running. Leaving normally waits for the run's end, its events unread;
    leaving by an exception or a cancelled scope ends the run first (K5). No process of it is left afterwards (K4).
    """
    return CodexBackend(config).open_run(request, mask_env=mask_env)


@asynccontextmanager
async def open_replay(
    recording: str | os.PathLike[str] | int,
    *,
    exit_status: int = 0,
    interval: float = 0.0,
    full_payloads: bool = False,
) -> AsyncIterator[RunHandle]:
    """A recorded stream as a run: the events and the completion that the live run had (Y1, Y2).

    `recording` is a path or an open descriptor, a pipe for example, which stays the caller's. `exit_status` is the
    recorded agent's return code, negative for a signal; `interval` the seconds before each line;
    `full_payloads` as `backend.codex.tool_payloads` `full`. Raises `InvalidRequestError` for an unreadable file.
    """
    require_trio()
    if not 0 <= interval < float("inf"):
        raise InvalidRequestError("interval must be a finite number of seconds, not negative")
    source = open_recording(recording, exit_status=ExitStatus.from_returncode(exit_status), interval=interval)
    async with carried(Run(source, Pipeline(full_payloads=full_payloads), config=CodexConfig())) as run:
        yield run


async def collect(request: RunRequest, *, config: CodexConfig | None = None) -> Completion:
    """Run to the end and give the completion, the events unread. Raises as `open_run` and `wait_completed` do."""
    async with open_run(request, config=config) as run:
        await run.events.aclose()
        return await run.wait_completed()


class Backend(Protocol):
    """What a gateway can hold: something that opens runs of one agent kind."""

    @property
    def agent_kind(self) -> str:
        """The name under which requests ask for it (G1)."""

    @property
    def capabilities(self) -> frozenset[str]:
        """The capability ids that it has, extension keys among them (G3)."""

    def open_run(self, request: RunRequest) -> AbstractAsyncContextManager[RunHandle]:
        """As the function of that name."""

    async def check(self, request: RunRequest) -> RunSetup | None:
        """Return where and with what a run of the request would work, None where this process does not know.

        Raise what `open_run` would for a request that cannot be carried out, where that shows before a start (Q).
        """


class CodexBackend:
    """The Codex CLI as a backend: one configuration, any number of runs, also at once.

    `containment` holds its runs; without one, it is made for the level that the configuration demands (N3). With
    `ask_release` the CLI is asked for its release before its first run, for `RunHandle.setup`.
    """

    def __init__(
        self,
        config: CodexConfig | None = None,
        *,
        containment: Containment | None = None,
        ask_release: bool = False,
    ) -> None:
        self._config = CodexConfig() if config is None else config
        self._ask_release = ask_release
        self._versions = Versions()
        self._containment = containment

    @property
    def agent_kind(self) -> str:
        """`codex`."""
        return AGENT_KIND

    @property
    def capabilities(self) -> frozenset[str]:
        """The capability ids of section Q, letter for letter (G3)."""
        return CAPABILITIES

    @asynccontextmanager
    async def open_run(
        self, request: RunRequest, *, mask_env: Mapping[str, str] = _NOTHING
    ) -> AsyncIterator[RunHandle]:
        """As the function of that name, with this backend's configuration."""
        require_trio()
        check_type(request)
        check_environment("mask_env", mask_env)
        limit = effective_timeout(request, self._config)
        async with AsyncExitStack() as files:
            with trio.move_on_after(math.inf if limit is None or not is_seconds(limit) else limit) as opening:
                run = await self._start(request, files, mask_env)
            if opening.cancelled_caught:
                role = unanswered()
                told = role is not None and limit is not None and limit >= _TELLING
                advice = advice_on(str(role), "did not answer before the time limit") if told else None
                raise RunTimedOut("timeout", advice=advice)
            async with carried(run) as carried_run:
                yield carried_run

    async def check(self, request: RunRequest) -> RunSetup:
        """As `Backend.check`: all of the request, and the binary (Q1 to Q7, S6); its release is not asked for."""
        require_trio()
        launch = await check_launch(request, self._config)
        secrets = await run_secrets(launch, request, self._config, _NOTHING, log=False)
        # Made when it is first used: without a journal it never is.
        masker = cache(lambda: Masker(secrets))
        return _setup(launch, lambda text, limit: masker().mask_and_cut(text, limit))

    async def installed(self, env: Mapping[str, str] = _NOTHING) -> tuple[str, Version | None]:
        """The path of the CLI that a run with these variables executes, and its release where it tells one (S6, S8).

        The CLI leaves files in its CODEX_HOME even when it is only asked for its release. Raises `SpawnError`.
        """
        require_trio()
        environ = merge_environment(os.environ, self._config, env)
        binary = await inquire(lambda inquiry: find_binary(self._config, environ, inquiry.at))
        return binary.path, await self._versions.of(binary, environ)

    async def containment_level(self) -> str | None:
        """The level at which a run would be held now (N1); None where none that is demanded can be had (N3)."""
        require_trio()
        self._containment = self._containment or Containment.of(self._config)
        try:
            return await self._containment.try_out(os.environ)
        except (OSError, SpawnError):
            return None

    async def _start(self, request: RunRequest, files: AsyncExitStack, mask_env: Mapping[str, str]) -> Run:
        """The run of a request, its agent started. What only the start needs, its environment first, is not kept."""
        config = self._config
        begun = trio.current_time()
        launch = await prepare_launch(request, config, versions=self._versions, ask_release=self._ask_release)
        before = await usage_before(launch)
        secrets = await run_secrets(launch, request, config, mask_env)
        mark = new_mark()
        schema = await files.enter_async_context(schema_file(launch.options, mark))
        await files.enter_async_context(mount_targets_removed(launch.options, launch.env, launch.cwd))
        expectation = _expectation(launch)
        if self._containment is None:
            # Only now: the configuration has been checked.
            self._containment = Containment.of(config)
        source = await spawn(
            launch, mark=mark, schema=schema, stop_timeout=config.stop_timeout, containment=self._containment
        )
        pipeline = Pipeline(
            full_payloads=launch.options.tool_payloads == "full",
            secrets=secrets,
            max_line_bytes=config.max_line_bytes,
            usage_before=before,
        )
        timeout = launch.timeout
        if timeout is not None:
            timeout = max(timeout - (trio.current_time() - begun), 0.0)
        config = replace(config, idle_timeout=effective_idle_timeout(config, launch.timeout))
        return Run(
            source,
            pipeline,
            config=config,
            timeout=timeout,
            session=expectation,
            containment=source.level,
            setup=_setup(launch, pipeline.mask),
        )


def _setup(launch: Launch, mask: Callable[[str, int], str]) -> RunSetup:
    release = None if launch.version is None else str(launch.version)
    return RunSetup(launch.cwd, launch.options.model, release, mask)


def _expectation(launch: Launch) -> SessionExpectation | None:
    resume, fork = launch.options.resume, launch.options.fork
    if resume is not None:
        return SessionExpectation(resume.id, fork=False)
    return None if fork is None else SessionExpectation(fork.id, fork=True)


def _checked_kind(kind: str) -> str:
    if not re.fullmatch("[a-z][a-z0-9_]*", str(kind)):
        raise InvalidAgentKindError("an agent kind must match [a-z][a-z0-9_]*")
    return kind


class Gateway:
    """Backends by agent kind (G1, G2)."""

    def __init__(self) -> None:
        self._backends: dict[str, Backend] = {}

    @property
    def backends(self) -> Mapping[str, Backend]:
        """The registered backends, by agent kind."""
        return dict(self._backends)

    def register(self, backend: Backend) -> None:
        """Add a backend. Raises `InvalidAgentKindError` for a kind that is no identifier or is taken (G1)."""
        kind = _checked_kind(backend.agent_kind)
        if kind in self._backends:
            raise InvalidAgentKindError(f"the agent kind {kind!r} has a backend already")
        self._backends[kind] = backend

    def open_run(self, agent_kind: str, request: RunRequest) -> AbstractAsyncContextManager[RunHandle]:
        """A run of the backend of that kind.

        Raises `UnknownBackendError` when nobody registered it (G2), `InvalidAgentKindError` when nobody could (G1).
        """
        return self._backend(agent_kind).open_run(request)

    async def check(self, agent_kind: str, request: RunRequest) -> RunSetup | None:
        """As `Backend.check` of the backend of that kind; raises as `open_run` besides."""
        return await self._backend(agent_kind).check(request)

    def _backend(self, agent_kind: str) -> Backend:
        backend = self._backends.get(_checked_kind(agent_kind))
        if backend is None:
            known = ", ".join(sorted(self._backends)) or "none"
            raise UnknownBackendError(f"no backend is registered for this agent kind; registered: {known}")
        return backend
