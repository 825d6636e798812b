"""Stage a run of the real pi with a scripted model, for the suites that all agents share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typing_extensions import override

from codex_adapter import RunRequest
from codex_adapter.agents.pi.releases import TURNS, parse_version
from codex_adapter.testing import ModelServer, Scenario

from ..needs import has_no_such_case
from .agents import OtherRelease, node_path, pi_programs, write_pi_files
from .oracle import Process
from .stage import NO_RETRIES, NOWHERE, Stage

__all__ = ["PiRelease", "PiStage", "installed_pi", "pi_for_turns"]


class PiRelease(OtherRelease):
    """One pi."""

    @override
    def needs(self, *_version: int, what: str) -> None:
        if any(word in what for word in ("hooks", "sandbox")):
            has_no_such_case("pi has no hooks, no MCP servers and no sandbox")

    @override
    def __str__(self) -> str:
        return f"pi-{self.name}"


def installed_pi() -> tuple[PiRelease, ...]:
    """Return the releases in `$PI_RELEASES/<version>/`, the newest first; else the one that a run finds."""
    named = bool(os.environ.get("PI_RELEASES"))
    return tuple(PiRelease(path.parents[2].name if named else "installed", path) for path in reversed(pi_programs()))


def pi_for_turns() -> list[PiRelease]:
    """Return the programs that support turns, the newest first."""
    return [found for found in installed_pi() if (parse_version(found.name) or TURNS) >= TURNS]


class PiStage(Stage):
    """Where the runs of one test take place. The CLI's own files are in `home`. It has no sandbox of its own."""

    agent = "pi"
    shell_tool = "bash"
    skill_file = "$PI_CODING_AGENT_DIR/skills/greeting/SKILL.md"
    skill_line = "<name>{name}</name>\n    <description>{description}</description>"
    agent_name = "Pi"
    missing_server: Mapping[str, Any] = {}
    permissions: str | None = "full"
    modes = ("danger-full-access",)
    takes_schema = False
    # The program waits as soon as its own pipe is full, too.
    unread_thoughts = 16

    def __init__(self, release: PiRelease, root: Path) -> None:
        super().__init__(release, root)
        self.home.mkdir()
        self.path = node_path(release.binary)

    @override
    @contextmanager
    def model(self, scenario: Scenario, *, config: str = "", retries: str = NO_RETRIES) -> Iterator[ModelServer]:
        with ModelServer(scenario) as server:
            write_pi_files(self.home, server.base_url, ("mock-model", "other/model", "third-model"))
            yield server

    @override
    def request(self, prompt: str = "Do it.", *, env: Mapping[str, str] | None = None, **options: Any) -> RunRequest:
        places = {"HOME": str(self.root / "home"), "PATH": self.path, "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"}
        variables = {**places, **self.oracle.environment, **(env or {})}
        return RunRequest(**{"prompt": prompt, "working_dir": str(self.workspace), "env": variables, **options})

    @property
    @override
    def config_fields(self) -> dict[str, Any]:
        # The list of models has the variables of the configuration, not those of a turn.
        return {**super().config_fields, "env": {"PATH": self.path}}

    @staticmethod
    @override
    def sent(request: Mapping[str, Any]) -> str:
        return json.dumps([request.get("instructions"), request["input"]])

    @property
    @override
    def options(self) -> tuple[str, ...]:
        return ("--agent", self.agent, "--pi", str(self.release.binary))

    @override
    def is_agent(self, process: Process) -> bool:
        # The program replaces its argv by its name.
        program, *words = process.argv or ("",)
        return program.rstrip() == "pi" or (program == "node" and "--mode" in words)
