"""Stage a run of the real pi with a scripted model, for the suites that all agents share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from typing_extensions import override

from codex_adapter import RunConfig, RunRequest
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.testing import ModelServer, Scenario

from .agents import node_path, pi_programs, write_pi_files
from .oracle import Process
from .stage import NO_RETRIES, NOWHERE, Stage

__all__ = ["PiRelease", "PiStage", "installed_pi"]


class PiRelease(NamedTuple):
    """One pi: the name of its directory and its program."""

    name: str
    binary: Path

    @override
    def __str__(self) -> str:
        return f"pi-{self.name}"


def installed_pi() -> tuple[PiRelease, ...]:
    """Return the releases in `$PI_RELEASES/<version>/`, the newest first; else the one that a run finds."""
    named = bool(os.environ.get("PI_RELEASES"))
    return tuple(PiRelease(path.parents[2].name if named else "installed", path) for path in reversed(pi_programs()))


class PiStage(Stage):
    """Where the runs of one test take place. The CLI's own files are in `home`. It has no sandbox of its own."""

    agent = "pi"
    modes = ("danger-full-access",)
    takes_schema = False
    # The program waits as soon as its own pipe is full, too.
    unread_thoughts = 16

    def __init__(self, release: PiRelease, root: Path) -> None:
        super().__init__(cast("Any", release), root)
        self.path = node_path(release.binary)

    @override
    @contextmanager
    def model(self, scenario: Scenario, *, config: str = "", retries: str = NO_RETRIES) -> Iterator[ModelServer]:
        with ModelServer(scenario) as server:
            write_pi_files(self.home, server.base_url)
            yield server

    @override
    def request(self, prompt: str = "Do it.", *, env: Mapping[str, str] | None = None, **options: Any) -> RunRequest:
        places = {"HOME": str(self.root / "home"), "PATH": self.path, "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"}
        variables = {**places, **self.oracle.environment, **(env or {})}
        return RunRequest(**{"prompt": prompt, "working_dir": str(self.workspace), "env": variables, **options})

    @override
    def run_config(self, **options: Any) -> RunConfig:
        return PiConfig(**{"binary": str(self.release.binary), "agent_dir": str(self.home), **options})

    @property
    @override
    def environment(self) -> dict[str, str]:
        return {**os.environ, **dict(self.request().env), "PI_CODING_AGENT_DIR": str(self.home)}

    @property
    @override
    def options(self) -> tuple[str, ...]:
        return ("--agent", self.agent, "--pi", str(self.release.binary))

    @override
    def is_agent(self, process: Process) -> bool:
        # The program replaces its argv by its name.
        program, *words = process.argv or ("",)
        return program.rstrip() == "pi" or (program == "node" and "--mode" in words)
