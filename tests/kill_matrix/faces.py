"""Start the adapter of one cell, with the installed command if it selects the level itself."""

from __future__ import annotations

import shutil
import sys
from functools import cache
from pathlib import Path

from tests.real.releases import Release, installed
from tests.real.stage import Stage

from .limits import COMMAND, available
from .scenarios import Scenario

__all__ = ["BARE", "adapter_argv", "launcher"]

BARE = "none"
"""In place of a level: the CLI as a plain child process."""
HERE = Path(__file__).parent
SCHEMA = '{"type":"object","properties":{},"additionalProperties":false}'


def adapter_argv(scenario: Scenario, level: str, mode: str, stage: Stage, timeout: float) -> list[str]:
    """The adapter's argv; `timeout` in seconds is for scenarios that have one."""
    binary = str(stage.release.binary)
    if scenario.node:
        binary = _node_program(stage)
    if level == BARE:
        return [*_program("bare"), binary, "exec", "--json", "--skip-git-repo-check", "--sandbox", mode, "-"]
    if scenario.library:
        return [*_program("library"), level, scenario.library, stage.agent, binary, mode]
    options = [*stage.options[:-1], binary, "--sandbox", mode]
    if scenario.timeout:
        options += ["--timeout", f"{timeout:.3f}"]
    if scenario.schema:
        file = stage.root / "schema.json"
        file.write_text(SCHEMA)
        options += ["--output-schema", str(file)]
    if level == available()[0]:
        return [COMMAND, "run", *options, "Do it."]
    return [*_program("forced", "command"), level, "run", *options, "Do it."]


def _program(name: str, kind: str = "program") -> list[str]:
    return [sys.executable, str(HERE / f"{name}_{kind}.py")]


@cache
def launcher() -> Release | None:
    """The newest release that has an npm launcher, where there is a node to run it."""
    found = [release for release in installed() if release.launcher is not None and release.launcher.exists()]
    return max(found, key=lambda release: release.version) if found and shutil.which("node") else None


def _node_program(stage: Stage) -> str:
    """A program of another name that runs the launcher, so that nothing is exchanged for the native CLI."""
    program = stage.root / "codex-by-node"
    program.write_text(f'#!/bin/sh\nexec node {stage.release.launcher} "$@"\n')
    program.chmod(0o755)
    return str(program)
