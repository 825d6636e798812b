"""Stage real turns of pi: a workspace, a user's directory, a scripted model, and an oracle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typing_extensions import override

from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.harness import PiHarness
from codex_adapter.agents.pi.releases import TURNS, parse_version
from codex_adapter.testing import Answer, ModelServer, Scenario

from .agents import node_path, pi_programs, write_pi_files
from .claude_turns import ClaudeTurnStage

__all__ = ["PiTurnRelease", "PiTurnStage", "pi_for_turns"]


class PiTurnRelease(NamedTuple):
    """One program of pi. It needs no pause before an answer."""

    name: str
    binary: Path
    pause: float = 0.0

    def needs(self, *_version: int, what: str) -> None:
        """Skip a test of what no release of this agent has; the versions are of another agent."""
        if any(word in what for word in ("hooks", "sandbox")):
            pytest.skip("pi has no hooks, no MCP servers and no sandbox")

    def before(self, *_version: int) -> bool:
        """Return false, as the versions are of another agent."""
        return False

    @override
    def __str__(self) -> str:
        return f"pi-{self.name}"


class PiTurnStage(ClaudeTurnStage):
    """Where the turns of one test take place. The user's own directory is `home`."""

    harness_id = "pi-sdk"
    kind = "pi"
    shell_tool = "bash"
    skill_file = "$PI_CODING_AGENT_DIR/skills/greeting/SKILL.md"
    skill_line = "<name>{name}</name>\n    <description>{description}</description>"
    model_names = ("scripted/mock-model", "scripted/other/model")
    session_files = "sessions"
    agent_name = "Pi"
    missing_server: Mapping[str, Any] = {}
    permissions: str | None = "full"

    @override
    @contextmanager
    def model(self, scenario: Scenario) -> Iterator[ModelServer]:
        with ModelServer(scenario) as server:
            write_pi_files(self.home, server.base_url, ("mock-model", "other/model", "third-model"))
            yield server

    @property
    @override
    def env(self) -> dict[str, str]:
        path = node_path(self.release.binary)
        return {"HOME": str(self.root / "home"), "PATH": path, **self.oracle.environment}

    @property
    @override
    def config_fields(self) -> dict[str, Any]:
        # The list of models has the variables of the configuration, not those of a turn.
        path = {"PATH": node_path(self.release.binary)}
        return {"binary": str(self.release.binary), "agent_dir": str(self.home), "env": path}

    @override
    def harness(self) -> PiHarness:
        return PiHarness(PiConfig(**self.config_fields))

    @property
    @override
    def turn_options(self) -> list[str]:
        program = ["--pi", str(self.release.binary), "--pi-agent-dir", str(self.home)]
        return ["--harness", self.harness_id, *program]

    @property
    @override
    def daemon_options(self) -> list[str]:
        return ["--agent", "pi", *self.turn_options[2:]]

    @staticmethod
    @override
    def model_refusal(text: str) -> Answer:
        error = {"message": text, "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
        return Answer(status=400, body={"error": error})

    @staticmethod
    @override
    def sent(request: Mapping[str, Any]) -> str:
        return json.dumps([request.get("instructions"), request["input"]])

    @override
    def agent_pid(self) -> int:
        for process in self.oracle.look():
            # The program replaces its argv by its name.
            if process.argv and process.argv[0].rstrip() == "pi":
                return process.pid
        raise LookupError("no living process of the turn is pi")


def pi_for_turns() -> list[PiTurnRelease]:
    """Return every program that supports turns: those in `$PI_RELEASES/<version>/`, or the one on PATH."""
    if not os.environ.get("PI_RELEASES"):
        return [PiTurnRelease("installed", path) for path in pi_programs()]
    found = [PiTurnRelease(path.parents[2].name, path) for path in pi_programs()]
    return [release for release in found if (parse_version(release.name) or TURNS)[:3] >= TURNS[:3]]
