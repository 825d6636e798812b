"""Define Claude Code as an agent of the runtime (AG1, AG2)."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codex_adapter.agent import Agent, CheckedRun, Demo, Launch, Purpose
from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.advice import ADVICE, EXAMPLES
from codex_adapter.agents.claude.binary import find_binary
from codex_adapter.agents.claude.command import TEMPORARY_DIRECTORIES
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import CAPABILITIES
from codex_adapter.agents.claude.kind import KIND
from codex_adapter.agents.claude.launch import check_launch, prepare_launch
from codex_adapter.agents.claude.mount_targets import MOUNT_TARGETS
from codex_adapter.agents.claude.run_secrets import run_secrets
from codex_adapter.agents.claude.stream.decoder import ClaudeDecoder
from codex_adapter.agents.claude.validation import check_config
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.request_checks import own_config
from codex_adapter.hints import Hint
from codex_adapter.request import RunConfig, RunRequest
from codex_adapter.runtime.mount_targets import mount_targets_removed
from codex_adapter.runtime.private_file import private_directory

if TYPE_CHECKING:
    from codex_adapter.agent_places import AgentPlaces
    from codex_adapter.findings import AgentReport, Finding, Verdict
    from codex_adapter.harness import Harness
    from codex_adapter.options import Option

__all__ = ["AGENT", "ClaudeAgent"]

_STOP_SIGNALS: Final = ((signal.SIGINT,), (signal.SIGTERM, signal.SIGCONT))
"""They follow the interrupt request, and come first when standard input is closed, after the first turn."""


class ClaudeAgent(Agent):
    """Claude Code."""

    kind: ClassVar[str] = KIND
    name: ClassVar[str] = "Claude Code"
    capabilities: ClassVar[frozenset[str]] = CAPABILITIES
    config_type: ClassVar[type[RunConfig]] = ClaudeConfig
    advice: ClassVar[Mapping[Hint, str]] = ADVICE
    examples: ClassVar[Mapping[str, Sequence[str]]] = EXAMPLES
    harness_id: ClassVar[str | None] = "agent-sdk"
    conversation_variables: ClassVar[Sequence[str]] = ("CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR")

    @property
    @override
    def options(self) -> Sequence[Option]:
        """Return the options of `codex-adapter run` for this agent."""
        from codex_adapter.agents.claude.options import OPTIONS  # noqa: PLC0415 - the library needs no option

        return OPTIONS

    @override
    def check_config(self, config: RunConfig, purpose: Purpose = "run") -> None:
        """Implement `Agent.check_config`."""
        check_config(own_config(config, ClaudeConfig))

    @override
    async def check(self, request: RunRequest, config: RunConfig) -> CheckedRun:
        """Implement `Agent.check`, without a query of the CLI's release (Q1 to Q6, S6)."""
        own = own_config(config, ClaudeConfig)
        launch = await check_launch(request, own)
        return CheckedRun(launch.cwd, launch.options.model, await run_secrets(launch, own, log=False))

    @override
    @asynccontextmanager
    async def prepare(
        self, request: RunRequest, config: RunConfig, *, mark: str, ask_release: bool
    ) -> AsyncIterator[Launch]:
        """Implement `Agent.prepare`. The CLI and its commands have a temporary directory of the run. (S1 to S10, K8)"""
        own = own_config(config, ClaudeConfig)
        launch = await prepare_launch(request, own, ask_release=ask_release)
        options = launch.options
        secrets = await run_secrets(launch, own)
        async with AsyncExitStack() as held:
            temporary = await held.enter_async_context(private_directory(mark))
            if options.sandboxed:
                roots = [launch.cwd, *options.add_dirs]
                await held.enter_async_context(mount_targets_removed(roots, MOUNT_TARGETS))
            yield Launch(
                argv=launch.argv(),
                env={**launch.env, **dict.fromkeys(TEMPORARY_DIRECTORIES, temporary), **launch.temporary},
                cwd=launch.cwd,
                decoder=partial(
                    ClaudeDecoder,
                    full_payloads=options.tool_payloads == "full",
                    require_servers=options.require_servers,
                    sandboxed=options.sandboxed,
                ),
                stop_signals=_STOP_SIGNALS,
                stdin=launch.prompt,
                timeout=launch.timeout,
                secrets=secrets,
                session=launch.session,
                private_file=f"{temporary}/run",
                model=options.model,
                release=None if launch.version is None else str(launch.version),
                answer_schema=options.output_schema,
            )

    @override
    def decoder(self, masker: Masker, *, full_payloads: bool = False) -> ClaudeDecoder:
        """Implement `Agent.decoder`."""
        return ClaudeDecoder(masker, full_payloads=full_payloads)

    @override
    def find_program(self, config: RunConfig, environ: Mapping[str, str]) -> str:
        """Implement `Agent.find_program` (S6)."""
        return find_binary(own_config(config, ClaudeConfig), environ).path

    @override
    def places(self, program: str | None = None) -> AgentPlaces:
        """Implement `Agent.places`."""
        from codex_adapter.agents.claude.places import claude_places  # noqa: PLC0415 - no run needs it

        return claude_places()

    @override
    def harness(self, config: RunConfig | None = None) -> Harness:
        """Implement `Agent.harness`."""
        from codex_adapter.agents.claude.harness import ClaudeHarness  # noqa: PLC0415 - needs an extra

        return ClaudeHarness(None if config is None else own_config(config, ClaudeConfig))

    @override
    def notice(self, request: RunRequest) -> str | None:
        """Return a notice if the CLI ignores the CLAUDE.md of the directory (S11)."""
        trusted = request.extensions.get(keys.TRUST_PROJECT)
        if trusted or not Path(request.working_dir or ".", "CLAUDE.md").is_file():
            return None
        return (
            "Claude Code does not read CLAUDE.md, because the project is not trusted. "
            "Pass --trust-project to use it, together with the project's settings, hooks and MCP servers"
        )

    @override
    async def examine(self, config: RunConfig) -> AgentReport:
        """Implement `Agent.examine`."""
        from codex_adapter.agents.claude.doctor import examine  # noqa: PLC0415 - no run needs it

        return await examine(own_config(config, ClaudeConfig))

    @override
    async def probe(
        self, config: RunConfig, root: Path, report: Callable[[Sequence[Finding | Verdict]], Awaitable[object]]
    ) -> str | None:
        """Implement `Agent.probe`."""
        from codex_adapter.agents.claude.doctor import find_installed  # noqa: PLC0415 - no run needs it
        from codex_adapter.agents.claude.probes import ClaudeStage  # noqa: PLC0415 - imports a web server
        from codex_adapter.probes.session import probe_all  # noqa: PLC0415 - imports a web server

        find = partial(find_installed, own_config(config, ClaudeConfig))
        return await probe_all(ClaudeStage(find), root, report)

    @override
    def login_command(self, config: RunConfig, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Implement `Agent.login_command`."""
        from codex_adapter.agents.claude.login import login_command  # noqa: PLC0415 - no run needs it

        return login_command(own_config(config, ClaudeConfig), arguments)

    @override
    def stage_demo(self, root: Path, binary: str | None) -> AbstractContextManager[Demo]:
        """Implement `Agent.stage_demo`."""
        from codex_adapter.agents.claude.demo import stage_demo  # noqa: PLC0415 - imports a web server

        return stage_demo(root, binary)


AGENT: Final = ClaudeAgent()
