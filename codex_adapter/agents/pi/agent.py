"""Define pi as an agent of the runtime (AG1, AG2)."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from codex_adapter.agent import Agent, CheckedRun, Demo, Launch, Purpose
from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.advice import ADVICE, EXAMPLES
from codex_adapter.agents.pi.binary import find_binary
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.extensions import CAPABILITIES
from codex_adapter.agents.pi.kind import KIND
from codex_adapter.agents.pi.launch import check_launch, prepare_launch
from codex_adapter.agents.pi.run_secrets import run_secrets
from codex_adapter.agents.pi.stream.decoder import PiDecoder
from codex_adapter.agents.pi.validation import check_config
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.request_checks import own_config
from codex_adapter.hints import Hint
from codex_adapter.request import RunConfig, RunRequest
from codex_adapter.runtime.private_file import private_directory

if TYPE_CHECKING:
    from codex_adapter.agent_places import AgentPlaces
    from codex_adapter.findings import AgentReport, Finding, Verdict
    from codex_adapter.harness import Harness
    from codex_adapter.options import Option

__all__ = ["AGENT", "PiAgent"]

_STOP_SIGNALS: Final = ((signal.SIGTERM, signal.SIGCONT),)
"""SIGTERM alone: on SIGTERM, the CLI kills its commands and exits. On SIGINT, it leaves them."""


class PiAgent(Agent):
    """pi."""

    kind: ClassVar[str] = KIND
    harness_id: ClassVar[str | None] = "pi-sdk"
    name: ClassVar[str] = "pi"
    capabilities: ClassVar[frozenset[str]] = CAPABILITIES
    config_type: ClassVar[type[RunConfig]] = PiConfig
    advice: ClassVar[Mapping[Hint, str]] = ADVICE
    examples: ClassVar[Mapping[str, Sequence[str]]] = EXAMPLES
    conversation_variables: ClassVar[Sequence[str]] = ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR")

    @property
    @override
    def options(self) -> Sequence[Option]:
        """Return the options of `codex-adapter run` for this agent."""
        from codex_adapter.agents.pi.options import OPTIONS  # noqa: PLC0415 - the library needs no option

        return OPTIONS

    @override
    def check_config(self, config: RunConfig, purpose: Purpose = "run") -> None:
        """Implement `Agent.check_config`."""
        check_config(own_config(config, PiConfig))

    @override
    async def check(self, request: RunRequest, config: RunConfig) -> CheckedRun:
        """Implement `Agent.check`, without the CLI's release (Q1 to Q6, S6)."""
        own = own_config(config, PiConfig)
        launch = await check_launch(request, own)
        return CheckedRun(launch.cwd, launch.options.model, await run_secrets(launch, own, log=False))

    @override
    @asynccontextmanager
    async def prepare(
        self, request: RunRequest, config: RunConfig, *, mark: str, ask_release: bool
    ) -> AsyncIterator[Launch]:
        """Implement `Agent.prepare`. The CLI leaves files in `TMPDIR`, so a run has its own one. (S1 to S10)"""
        own = own_config(config, PiConfig)
        launch = await prepare_launch(request, own)
        options = launch.options
        secrets = await run_secrets(launch, own)
        env = launch.env
        async with AsyncExitStack() as held:
            file: str | None = None
            if launch.own_temporary:
                temporary = await held.enter_async_context(private_directory(mark))
                env, file = {**env, "TMPDIR": temporary}, f"{temporary}/run"
            yield Launch(
                argv=launch.argv(),
                env=env,
                cwd=launch.cwd,
                decoder=partial(PiDecoder, full_payloads=options.tool_payloads == "full"),
                stop_signals=_STOP_SIGNALS,
                stdin=launch.prompt,
                timeout=launch.timeout,
                secrets=secrets,
                session=launch.session,
                private_file=file,
                model=options.model,
                release=None if launch.version is None else str(launch.version),
            )

    @override
    def decoder(self, masker: Masker, *, full_payloads: bool = False) -> PiDecoder:
        """Implement `Agent.decoder`."""
        return PiDecoder(masker, full_payloads=full_payloads)

    @override
    def find_program(self, config: RunConfig, environ: Mapping[str, str]) -> str:
        """Implement `Agent.find_program` (S6)."""
        return find_binary(own_config(config, PiConfig), environ).path

    @override
    def places(self, program: str | None = None) -> AgentPlaces:
        """Implement `Agent.places`."""
        from codex_adapter.agents.pi.places import pi_places  # noqa: PLC0415 - no run needs it

        return pi_places()

    @override
    def notice(self, request: RunRequest) -> str | None:
        """Return a notice if the CLI ignores the AGENTS.md of the directory (S11)."""
        trusted = request.extensions.get(keys.TRUST_PROJECT)
        if trusted or not Path(request.working_dir or ".", "AGENTS.md").is_file():
            return None
        return (
            "pi does not read AGENTS.md, because the project is not trusted. "
            "Pass --trust-project to use it, together with extensions, skills and the project's own settings"
        )

    @override
    async def examine(self, config: RunConfig) -> AgentReport:
        """Implement `Agent.examine`."""
        from codex_adapter.agents.pi.doctor import examine  # noqa: PLC0415 - no run needs it

        return await examine(own_config(config, PiConfig))

    @override
    async def probe(
        self, config: RunConfig, root: Path, report: Callable[[Sequence[Finding | Verdict]], Awaitable[object]]
    ) -> str | None:
        """Implement `Agent.probe`."""
        from codex_adapter.agents.pi.doctor import find_installed  # noqa: PLC0415 - no run needs it
        from codex_adapter.agents.pi.probes import PiStage  # noqa: PLC0415 - imports a web server
        from codex_adapter.probes.session import probe_all  # noqa: PLC0415 - imports a web server

        find = partial(find_installed, own_config(config, PiConfig))
        return await probe_all(PiStage(find), root, report)

    @override
    def login_command(self, config: RunConfig, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Implement `Agent.login_command`."""
        from codex_adapter.agents.pi.login import login_command  # noqa: PLC0415 - no run needs it

        return login_command()

    @override
    def harness(self, config: RunConfig | None = None) -> Harness:
        """Implement `Agent.harness`."""
        from codex_adapter.agents.pi.harness import PiHarness  # noqa: PLC0415 - needs an extra

        return PiHarness(None if config is None else own_config(config, PiConfig))

    @override
    def stage_demo(self, root: Path, binary: str | None) -> AbstractContextManager[Demo]:
        """Implement `Agent.stage_demo`."""
        from codex_adapter.agents.pi.demo import stage_demo  # noqa: PLC0415 - imports a web server

        return stage_demo(root, binary)


AGENT: Final = PiAgent()
