"""Stage a run of the real Claude Code with a scripted model, for the suites that all agents share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from typing_extensions import override

from codex_adapter import RunConfig, RunRequest
from codex_adapter.agents.claude.binary import find_binary
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.errors import SpawnError
from codex_adapter.testing import ModelServer, Scenario

from .oracle import Process
from .stage import NO_RETRIES, Stage

__all__ = ["ClaudeRelease", "ClaudeStage", "installed_claude"]


class ClaudeRelease(NamedTuple):
    """One Claude Code: its directory's name and its native binary."""

    name: str
    binary: Path

    @override
    def __str__(self) -> str:
        return f"claude-{self.name}"


@cache
def installed_claude() -> tuple[ClaudeRelease, ...]:
    """The releases in `$CLAUDE_RELEASES/<version>/`, the newest first; else the one in the wheel."""
    directory = os.environ.get("CLAUDE_RELEASES")
    found = Path(directory).glob("*/node_modules/@anthropic-ai/claude-code-linux-*/claude") if directory else ()
    releases = {tuple(map(int, path.parents[3].name.split("."))): path for path in found}
    if releases:
        return tuple(ClaudeRelease(".".join(map(str, key)), releases[key]) for key in sorted(releases, reverse=True))
    try:
        return (ClaudeRelease("installed", Path(find_binary(ClaudeConfig(), os.environ).path)),)
    except SpawnError:
        return ()


class ClaudeStage(Stage):
    """Where the runs of one test take place. The CLI's own files are in `home`."""

    agent = "claude_code"

    def __init__(self, release: ClaudeRelease, root: Path) -> None:
        super().__init__(cast("Any", release), root)
        self._address = ""

    @override
    @contextmanager
    def model(self, scenario: Scenario, *, config: str = "", retries: str = NO_RETRIES) -> Iterator[ModelServer]:
        with ModelServer(scenario) as server:
            self.home.mkdir(exist_ok=True)
            self._address = f"http://127.0.0.1:{server.port}"
            yield server

    @override
    def request(self, prompt: str = "Do it.", *, env: Mapping[str, str] | None = None, **options: Any) -> RunRequest:
        service = {"ANTHROPIC_BASE_URL": self._address, "ANTHROPIC_API_KEY": "sk-ant-scripted", "SHELL": "/bin/bash"}
        settings = {"HOME": str(self.root / "home"), "CLAUDE_CODE_MAX_RETRIES": "1", "NO_PROXY": "127.0.0.1"}
        variables = {**service, **settings, **self.oracle.environment, **(env or {})}
        return RunRequest(**{"prompt": prompt, "working_dir": str(self.workspace), "env": variables, **options})

    @override
    def run_config(self, **options: Any) -> RunConfig:
        return ClaudeConfig(**{"binary": str(self.release.binary), "config_dir": str(self.home), **options})

    @property
    @override
    def environment(self) -> dict[str, str]:
        return {**os.environ, **dict(self.request().env), "CLAUDE_CONFIG_DIR": str(self.home)}

    @property
    @override
    def options(self) -> tuple[str, ...]:
        return ("--agent", self.agent, "--claude", str(self.release.binary))

    @override
    def is_agent(self, process: Process) -> bool:
        program, *words = process.argv or ("",)
        return program.rstrip().rpartition("/")[2] == "claude" and "--version" not in words
