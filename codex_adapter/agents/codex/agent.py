"""The Codex CLI as an agent (stub until the seam lands)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from codex_adapter.agent import Agent, Demo, Purpose
from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.settings import check_settings
from codex_adapter.agents.codex.validation import check_config
from codex_adapter.request import CodexConfig, RunConfig, RunRequest

if TYPE_CHECKING:
    from codex_adapter.findings import AgentReport, Finding, Verdict
    from codex_adapter.options import Option

__all__ = ["AGENT", "CodexAgent"]


class CodexAgent(Agent):
    """The Codex CLI."""

    kind = "codex"
    name = "the Codex CLI"
    conversation_variables = ("CODEX_HOME", "CODEX_SQLITE_HOME")
    config_type = CodexConfig

    @property
    @override
    def options(self) -> Sequence[Option]:
        from codex_adapter.agents.codex.options import OPTIONS  # noqa: PLC0415 - the library needs no option

        return OPTIONS

    @override
    def check_config(self, config: RunConfig, purpose: Purpose = "run") -> None:
        check_settings("config.settings", config.settings, purpose)
        check_config(config)

    @override
    def find_program(self, config: RunConfig, environ: Mapping[str, str]) -> str:
        return find_binary(config, environ).path

    @override
    async def examine(self, config: RunConfig) -> AgentReport:
        from codex_adapter.agents.codex.doctor import examine  # noqa: PLC0415 - no run needs it

        return await examine(config)

    @override
    async def probe(
        self,
        config: RunConfig,
        root: Path,
        report: Callable[[Sequence[Finding | Verdict]], Awaitable[object]],
    ) -> str | None:
        from codex_adapter.agents.codex.probes.session import probe  # noqa: PLC0415 - brings a web server

        return await probe(config, root, report)

    @override
    def login_command(self, config: RunConfig, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        from codex_adapter.agents.codex.login import login_command  # noqa: PLC0415 - no run needs it

        return login_command(config, arguments)

    @override
    def stage_demo(self, root: Path, binary: str | None) -> AbstractContextManager[Demo]:
        from codex_adapter.agents.codex.demo import stage_demo  # noqa: PLC0415 - brings a web server

        return stage_demo(root, binary)

    @override
    def notice(self, request: RunRequest) -> str | None:
        """Report that an AGENTS.md exists and is not read by newer releases of the CLI (S11)."""
        trusted = request.extensions.get("backend.codex.exec.trust_project")
        if trusted or not Path(request.working_dir or ".", "AGENTS.md").is_file():
            return None
        return (
            "AGENTS.md is not read by Codex 0.155 and newer, since the project is not trusted. "
            "Pass --trust-project to use it, with the project's own settings, hooks and MCP servers"
        )


AGENT = CodexAgent()
