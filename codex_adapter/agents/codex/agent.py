"""Define the Codex CLI as an agent of the runtime (AG1, AG2)."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from typing_extensions import override

from codex_adapter.agent import Agent, CheckedRun, Demo, Launch, Purpose
from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.advice import ADVICE, EXAMPLES
from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.extensions import CAPABILITIES
from codex_adapter.agents.codex.kind import KIND
from codex_adapter.agents.codex.launch import CodexLaunch, check_launch, prepare_launch
from codex_adapter.agents.codex.mount_targets import MOUNT_TARGETS, mount_roots
from codex_adapter.agents.codex.run_secrets import run_secrets
from codex_adapter.agents.codex.session import SessionExpectation
from codex_adapter.agents.codex.session_file import usage_before
from codex_adapter.agents.codex.settings import check_settings
from codex_adapter.agents.codex.stream.decoder import CodexDecoder
from codex_adapter.agents.codex.validation import check_config
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.request_checks import own_config
from codex_adapter.hints import Hint
from codex_adapter.request import RunConfig, RunRequest
from codex_adapter.runtime.mount_targets import mount_targets_removed
from codex_adapter.runtime.private_file import private_file

if TYPE_CHECKING:
    from codex_adapter.agent_places import AgentPlaces
    from codex_adapter.findings import AgentReport, Finding, Verdict
    from codex_adapter.harness import Harness
    from codex_adapter.options import Option

__all__ = ["AGENT", "CodexAgent"]

_STOP_SIGNALS: Final = ((signal.SIGINT,), (signal.SIGTERM, signal.SIGCONT))
"""SIGINT is first: on SIGINT, the CLI stops its own tools and saves the last records of the session."""


class CodexAgent(Agent):
    """The Codex CLI."""

    kind: ClassVar[str] = KIND
    name: ClassVar[str] = "the Codex CLI"
    capabilities: ClassVar[frozenset[str]] = CAPABILITIES
    config_type: ClassVar[type[RunConfig]] = CodexConfig
    advice: ClassVar[Mapping[Hint, str]] = ADVICE
    examples: ClassVar[Mapping[str, Sequence[str]]] = EXAMPLES
    harness_id: ClassVar[str | None] = KIND
    conversation_variables: ClassVar[Sequence[str]] = ("CODEX_HOME", "CODEX_SQLITE_HOME")

    @property
    @override
    def options(self) -> Sequence[Option]:
        """Return the options of `codex-adapter run` for this agent."""
        from codex_adapter.agents.codex.options import OPTIONS  # noqa: PLC0415 - the library needs no option

        return OPTIONS

    @override
    def check_config(self, config: RunConfig, purpose: Purpose = "run") -> None:
        """Implement `Agent.check_config`. The settings that may be passed depend on the purpose. (Q7)"""
        own = own_config(config, CodexConfig)
        check_settings("config.settings", own.settings, purpose)
        check_config(own)

    @override
    async def check(self, request: RunRequest, config: RunConfig) -> CheckedRun:
        """Implement `Agent.check`, without a query of the CLI's release (Q1 to Q7, S6)."""
        own = own_config(config, CodexConfig)
        launch = await check_launch(request, own)
        return CheckedRun(launch.cwd, launch.options.model, await run_secrets(launch, request, own, log=False))

    @override
    @asynccontextmanager
    async def prepare(
        self, request: RunRequest, config: RunConfig, *, mark: str, ask_release: bool
    ) -> AsyncIterator[Launch]:
        """Implement `Agent.prepare` (S1 to S11, K8)."""
        own = own_config(config, CodexConfig)
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
            roots = mount_roots(options, launch.env, launch.cwd)
            if roots:
                await held.enter_async_context(mount_targets_removed(roots, MOUNT_TARGETS))
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
                answer_schema=options.output_schema,
            )

    @override
    def decoder(self, masker: Masker, *, full_payloads: bool = False) -> CodexDecoder:
        """Implement `Agent.decoder`."""
        return CodexDecoder(masker, full_payloads=full_payloads)

    @override
    def find_program(self, config: RunConfig, environ: Mapping[str, str]) -> str:
        """Implement `Agent.find_program` (S6)."""
        return find_binary(own_config(config, CodexConfig), environ).path

    @override
    def places(self, program: str | None = None) -> AgentPlaces:
        """Implement `Agent.places`."""
        from codex_adapter.agents.codex.places import codex_places  # noqa: PLC0415 - no run needs it

        return codex_places(program)

    @override
    def harness(self, config: RunConfig | None = None) -> Harness:
        """Implement `Agent.harness`."""
        from codex_adapter.agents.codex.harness import CodexHarness  # noqa: PLC0415 - needs an extra

        return CodexHarness(None if config is None else own_config(config, CodexConfig))

    @override
    def notice(self, request: RunRequest) -> str | None:
        """Return a notice if newer releases of the CLI ignore the AGENTS.md of the directory (S11)."""
        trusted = request.extensions.get(keys.TRUST_PROJECT)
        if trusted or not Path(request.working_dir or ".", "AGENTS.md").is_file():
            return None
        return (
            "Codex 0.155 and newer do not read AGENTS.md, because the project is not trusted. "
            "Pass --trust-project to use it, together with the project's settings, hooks and MCP servers"
        )

    @override
    async def examine(self, config: RunConfig) -> AgentReport:
        """Implement `Agent.examine`."""
        from codex_adapter.agents.codex.doctor import examine  # noqa: PLC0415 - no run needs it

        return await examine(own_config(config, CodexConfig))

    @override
    async def probe(
        self, config: RunConfig, root: Path, report: Callable[[Sequence[Finding | Verdict]], Awaitable[object]]
    ) -> str | None:
        """Implement `Agent.probe`."""
        from codex_adapter.agents.codex.doctor import find_installed  # noqa: PLC0415 - no run needs it
        from codex_adapter.agents.codex.probes import CodexStage  # noqa: PLC0415 - imports a web server
        from codex_adapter.probes.session import probe_all  # noqa: PLC0415 - imports a web server

        find = partial(find_installed, own_config(config, CodexConfig))
        return await probe_all(CodexStage(find), root, report)

    @override
    def login_command(self, config: RunConfig, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Implement `Agent.login_command`."""
        from codex_adapter.agents.codex.login import login_command  # noqa: PLC0415 - no run needs it

        return login_command(own_config(config, CodexConfig), arguments)

    @override
    def stage_demo(self, root: Path, binary: str | None) -> AbstractContextManager[Demo]:
        """Implement `Agent.stage_demo`."""
        from codex_adapter.agents.codex.demo import stage_demo  # noqa: PLC0415 - imports a web server

        return stage_demo(root, binary)


AGENT: Final = CodexAgent()


def _expectation(launch: CodexLaunch) -> SessionExpectation | None:
    resume, fork = launch.options.resume, launch.options.fork
    if resume is not None:
        return SessionExpectation(resume.id, fork=False)
    return None if fork is None else SessionExpectation(fork.id, fork=True)
