"""Stage a run of the real Claude Code with a scripted model, for the suites that all agents share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typing_extensions import override

from codex_adapter import RunRequest
from codex_adapter.agents.claude.releases import TURNS, parse_version
from codex_adapter.testing import Answer, ModelServer, Scenario

from .agents import OtherRelease, claude_programs
from .oracle import Process
from .stage import NO_RETRIES, Stage

__all__ = ["ClaudeRelease", "ClaudeStage", "claude_for_turns", "installed_claude"]


class ClaudeRelease(OtherRelease):
    """One Claude Code."""

    @override
    def __str__(self) -> str:
        return f"claude-{self.name}"


def installed_claude() -> tuple[ClaudeRelease, ...]:
    """The releases in `$CLAUDE_RELEASES/<version>/`, the newest first; else the one that a run finds."""
    named = bool(os.environ.get("CLAUDE_RELEASES"))
    programs = reversed(claude_programs())
    return tuple(ClaudeRelease(path.parents[3].name if named else "installed", path) for path in programs)


def claude_for_turns() -> list[ClaudeRelease]:
    """The programs that support turns, the newest first."""
    return [found for found in installed_claude() if (parse_version(f"{found.name} (Claude Code)") or TURNS) >= TURNS]


class ClaudeStage(Stage):
    """Where the runs of one test take place. The CLI's own files are in `home`."""

    agent = "claude_code"
    shell_tool = "Bash"
    skill_file = "$CLAUDE_CONFIG_DIR/skills/greeting/SKILL.md"
    model_names = ("api/opus", "api/sonnet")
    session_files = "projects"
    agent_name = "Claude Code"
    missing_server: Mapping[str, Any] = {"hint": "mcp_server_failed", "failure": "other"}

    def __init__(self, release: ClaudeRelease, root: Path) -> None:
        super().__init__(release, root)
        self.home.mkdir()
        self._address = ""

    @override
    @contextmanager
    def model(self, scenario: Scenario, *, config: str = "", retries: str = NO_RETRIES) -> Iterator[ModelServer]:
        with ModelServer(scenario) as server:
            self._address = f"http://127.0.0.1:{server.port}"
            yield server

    @override
    def request(self, prompt: str = "Do it.", *, env: Mapping[str, str] | None = None, **options: Any) -> RunRequest:
        service = {"ANTHROPIC_BASE_URL": self._address, "ANTHROPIC_API_KEY": "sk-ant-scripted", "SHELL": "/bin/bash"}
        settings = {"HOME": str(self.root / "home"), "CLAUDE_CODE_MAX_RETRIES": "1", "NO_PROXY": "127.0.0.1"}
        variables = {**service, **settings, **self.oracle.environment, **(env or {})}
        return RunRequest(**{"prompt": prompt, "working_dir": str(self.workspace), "env": variables, **options})

    @staticmethod
    @override
    def model_refusal(text: str) -> Answer:
        return Answer(status=404, body={"type": "error", "error": {"type": "not_found_error", "message": text}})

    @staticmethod
    @override
    def sent(request: Mapping[str, Any]) -> str:
        return json.dumps([request.get("system"), request["messages"]])

    @property
    @override
    def options(self) -> tuple[str, ...]:
        return ("--agent", self.agent, "--claude", str(self.release.binary))

    @override
    def is_agent(self, process: Process) -> bool:
        program, *words = process.argv or ("",)
        return program.rstrip().rpartition("/")[2] == "claude" and "--version" not in words
