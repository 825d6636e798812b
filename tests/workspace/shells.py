"""Run commands in a workspace with little code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.workspace import Workspace
from codex_adapter.workspace.commands import CommandResult, run_command
from codex_adapter.workspace.sandbox import Sandbox

from ..runtime.survivors import Survivors

__all__ = ["Shell"]


class Shell:
    """Runs commands, all in one way; each has the variable by which the survivors of a test are found."""

    def __init__(
        self, workspace: Workspace, survivors: Survivors, sandbox: Sandbox | None, containment: Containment
    ) -> None:
        self.workspace = workspace
        self.sandbox = sandbox
        self.containment = containment
        self._env = survivors.env

    async def __call__(
        self,
        command: str,
        *,
        timeout: float = 60,  # noqa: ASYNC109 - as `run_command`
        env: Mapping[str, str] | None = None,
        **others: Any,
    ) -> CommandResult:
        """As `run_command`."""
        return await run_command(
            self.workspace,
            command,
            timeout=timeout,
            env={**self._env, **(env or {})},
            sandbox=self.sandbox,
            containment=self.containment,
            **others,
        )

    async def output(self, command: str, **others: Any) -> str:
        """What a command that succeeds prints."""
        result = await self(command, **others)
        assert (result.exit_code, result.stderr.text()) == (0, "")
        return result.stdout.text()
