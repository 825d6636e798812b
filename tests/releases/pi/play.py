"""Prepare a run of pi with a scripted Responses API."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from codex_adapter import RunConfig, RunRequest
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.testing import ModelServer
from tests.releases.case import Run
from tests.releases.play import IDLE

__all__ = ["prepare"]

_COSTS = ("input", "output", "cacheRead", "cacheWrite")
NOWHERE = "http://127.0.0.1:1"
"""A service that does not exist."""


def prepare(run: Run, server: ModelServer, root: Path, *, package: Path, node: Path) -> tuple[RunRequest, RunConfig]:
    """Return the request and the configuration of a run, with files below `root`.

    `package` is the directory of the release's package, `node` that of its Node.js.
    """
    # The adapter reads the release from the package around the program, and here the program is a copier.
    shutil.copyfile(package / "package.json", root / "package.json")
    directory = root / "agent"
    directory.mkdir(exist_ok=True)
    model = {"id": "mock-model", "reasoning": True, "cost": dict.fromkeys(_COSTS, 1)}
    provider = {"api": "openai-responses", "apiKey": "sk-scripted", "models": [model]}
    addresses = {"scripted": server.base_url, "unreachable": f"{NOWHERE}/v1"}
    providers = {name: {"baseUrl": address, **provider} for name, address in addresses.items()}
    (directory / "models.json").write_text(json.dumps({"providers": providers}))
    retry = {"enabled": True, "maxRetries": 1, "baseDelayMs": 1}
    (directory / "settings.json").write_text(json.dumps({"retry": retry}))
    env = {
        **{"HOME": str(root / "home"), "SHELL": "/bin/bash", "PATH": f"{node}:{os.environ['PATH']}"},
        **{"HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **run.env},
    }
    workspace = str(root / "workspace")
    request = RunRequest(prompt=run.prompt, working_dir=workspace, env=env, extensions=run.extensions)
    return request, PiConfig(agent_dir=str(directory), idle_timeout=IDLE)
