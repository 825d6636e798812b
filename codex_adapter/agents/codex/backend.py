"""Offer the Codex CLI as a backend."""

from __future__ import annotations

import os
from collections.abc import Mapping

from codex_adapter.agents.codex.agent import AGENT
from codex_adapter.agents.codex.binary import PROGRAM, find_binary
from codex_adapter.agents.codex.command import merge_environment
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.file_systems import inquire
from codex_adapter.runtime.backend import NO_VARIABLES, AgentBackend
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.runtime.event_loop import require_trio
from codex_adapter.runtime.programs import Version, versions_of_this_run

__all__ = ["CodexBackend"]


class CodexBackend(AgentBackend):
    """The Codex CLI as a backend: an `AgentBackend` of its agent."""

    def __init__(
        self,
        config: CodexConfig | None = None,
        *,
        containment: Containment | None = None,
        ask_release: bool = False,
    ) -> None:
        self._codex_config = CodexConfig() if config is None else config
        super().__init__(AGENT, self._codex_config, containment=containment, ask_release=ask_release)

    async def installed(self, env: Mapping[str, str] = NO_VARIABLES) -> tuple[str, Version | None]:
        """Return the path of the CLI that a run with these variables executes, and its release or None (S6, S8).

        The CLI creates files in its CODEX_HOME even when it only prints its release. Raise `SpawnError` if no CLI is
        found.
        """
        require_trio()
        environ = merge_environment(os.environ, self._codex_config, env)
        binary = await inquire(lambda inquiry: find_binary(self._codex_config, environ, inquiry.at))
        return binary.path, await versions_of_this_run(PROGRAM).of(binary, environ, self._codex_config)
