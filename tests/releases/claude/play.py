"""Prepare a run of Claude Code with a scripted Messages API."""

from __future__ import annotations

from pathlib import Path

from codex_adapter import RunConfig, RunRequest
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.testing import ModelServer
from tests.releases.case import Run
from tests.releases.play import IDLE

__all__ = ["prepare"]

NOWHERE = "http://127.0.0.1:1"
"""A proxy that does not exist, so that nothing reaches a network."""


def prepare(run: Run, server: ModelServer, root: Path) -> tuple[RunRequest, RunConfig]:
    """Return the request and the configuration of a run, with files below `root`."""
    (root / "config").mkdir(exist_ok=True)
    env = {
        **{"HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "SHELL": "/bin/bash"},
        **{"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.port}", "ANTHROPIC_API_KEY": "sk-ant-scripted"},
        **{"CLAUDE_CODE_MAX_RETRIES": "1", "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
        **run.env,
    }
    workspace = str(root / "workspace")
    request = RunRequest(prompt=run.prompt, working_dir=workspace, env=env, extensions=run.extensions)
    return request, ClaudeConfig(config_dir=str(root / "config"), idle_timeout=IDLE)
