"""Measure the time from the agent's start until all its descendants run."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from codex_adapter.testing import Shell, answer, script

from .cells import Program, modes_of, stage_of
from .descendants import command
from .faces import adapter_argv
from .limits import available
from .scenarios import SCENARIOS
from .scene import Scene

__all__ = ["measure_span"]


def measure_span(release: Program) -> float:
    """Seconds, the longest of all modes."""
    return max(_measure(release, mode) for mode in modes_of(release))


def _measure(release: Program, mode: str) -> float:
    root = Path(tempfile.mkdtemp(prefix="kill-matrix-"))
    try:
        stage = stage_of(release, root)
        (stage.workspace / "start").write_text(command(stage.oracle.word))
        with stage.model(script(Shell("sh start"), answer("Done.", gate="go on"))) as server:
            argv = adapter_argv(SCENARIOS[0], available()[0], mode, stage, 0.0)
            with Scene(stage, server, argv) as scene:
                scene.wait_for_agent()
                started = time.monotonic()
                scene.wait(0.0, all_up=True)
                return time.monotonic() - started
    finally:
        shutil.rmtree(root, ignore_errors=True)
