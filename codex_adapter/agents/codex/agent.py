"""Bring the Codex CLI to the runtime (AG1, AG2)."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, ClassVar, Final

import msgspec
from typing_extensions import override

from codex_adapter.agent import Agent, AgentPlaces, CheckedRun, Launch
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.extensions import CAPABILITIES
from codex_adapter.agents.codex.kind import KIND
from codex_adapter.agents.codex.launch import CodexLaunch, check_launch, prepare_launch
from codex_adapter.agents.codex.mount_targets import mount_targets_removed
from codex_adapter.agents.codex.places import codex_places
from codex_adapter.agents.codex.restricted import restricted, resume, with_schema
from codex_adapter.agents.codex.run_secrets import run_secrets
from codex_adapter.agents.codex.session import SessionExpectation
from codex_adapter.agents.codex.session_file import usage_before
from codex_adapter.agents.codex.stream.decoder import CodexDecoder
from codex_adapter.agents.codex.validation import check_config
from codex_adapter.core.checks import refuse
from codex_adapter.core.masking.masker import Masker
from codex_adapter.request import RunConfig, RunRequest
from codex_adapter.runtime.private_file import private_file

__all__ = ["AGENT", "CodexAgent"]

_STOP_SIGNALS: Final = ((signal.SIGINT,), (signal.SIGTERM, signal.SIGCONT))
"""SIGINT first, by which the CLI stops its own tools and keeps the session's last records."""


class CodexAgent(Agent):
    """The Codex CLI."""

    kind: ClassVar[str] = KIND
    name: ClassVar[str] = "the Codex CLI"
    capabilities: ClassVar[frozenset[str]] = CAPABILITIES
    config_type: ClassVar[type[RunConfig]] = CodexConfig

    @override
    def places(self, config: RunConfig | None = None) -> AgentPlaces:
        """As `Agent.places`."""
        return codex_places(None if config is None else config.binary)

    @override
    def restricted(self, request: RunRequest) -> RunRequest:
        """As `Agent.restricted`."""
        return restricted(request)

    @override
    def with_schema(self, request: RunRequest, schema: Mapping[str, Any]) -> RunRequest:
        """As `Agent.with_schema`."""
        return with_schema(request, schema)

    @override
    def resume(self, request: RunRequest, session_id: str) -> RunRequest:
        """As `Agent.resume`."""
        return resume(request, session_id)

    @override
    def check_config(self, config: RunConfig) -> None:
        """As `Agent.check_config`."""
        check_config(config)

    @override
    async def check(self, request: RunRequest, config: RunConfig) -> CheckedRun:
        """As `Agent.check` (Q1 to Q7, S6); the release of the CLI is not asked for."""
        own = _own(config)
        launch = await check_launch(request, own)
        return CheckedRun(launch.cwd, launch.options.model, await run_secrets(launch, request, own, log=False))

    @override
    @asynccontextmanager
    async def prepare(
        self, request: RunRequest, config: RunConfig, *, mark: str, ask_release: bool
    ) -> AsyncIterator[Launch]:
        """As `Agent.prepare` (S1 to S11, K8)."""
        own = _own(config)
        launch = await prepare_launch(request, own, ask_release=ask_release)
        options = launch.options
        decoder = partial(
            CodexDecoder,
            full_payloads=options.tool_payloads == "full",
            usage_before=await usage_before(launch),
            sandboxed=options.sandbox_mode != "danger-full-access" and options.tools != "none",
        )
        secrets = await run_secrets(launch, request, own)
        async with AsyncExitStack() as held:
            schema = None
            if options.output_schema is not None:
                content = msgspec.json.encode(options.output_schema)
                schema = await held.enter_async_context(private_file(mark, "output-schema.json", content))
            await held.enter_async_context(mount_targets_removed(options, launch.env, launch.cwd))
            yield Launch(
                argv=launch.argv(schema),
                env=launch.env,
                cwd=launch.cwd,
                decoder=decoder,
                stop_signals=_STOP_SIGNALS,
                stdin=launch.prompt,
                timeout=launch.timeout,
                secrets=secrets,
                session=_expectation(launch),
                private_file=schema,
                model=options.model,
                release=None if launch.version is None else str(launch.version),
            )

    @override
    def decoder(self, masker: Masker, *, full_payloads: bool = False) -> CodexDecoder:
        """As `Agent.decoder`."""
        return CodexDecoder(masker, full_payloads=full_payloads)


AGENT: Final = CodexAgent()


def _own(config: RunConfig) -> CodexConfig:
    """Return the configuration as one of this agent. Raises `InvalidRequestError` for any other."""
    if not isinstance(config, CodexConfig):
        refuse("config", "a CodexConfig")
    return config


def _expectation(launch: CodexLaunch) -> SessionExpectation | None:
    resume, fork = launch.options.resume, launch.options.fork
    if resume is not None:
        return SessionExpectation(resume.id, fork=False)
    return None if fork is None else SessionExpectation(fork.id, fork=True)
