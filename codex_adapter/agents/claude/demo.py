"""Prepare a demo run of Claude Code with a scripted model, without an account and without network (C3)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codex_adapter.agent import Demo
from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.binary import find_binary
from codex_adapter.agents.claude.command import merge_environment
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.errors import SpawnError
from codex_adapter.request import RunRequest
from codex_adapter.testing import ModelServer, RawItem, Scenario, Shell, script

__all__ = ["stage_demo"]

_PROMPT: Final = "Have a look around, and leave me a greeting in hello.txt."
_FILE: Final = "hello.txt"
_GREETING: Final = "Hello from Claude Code.\n"


def _scenario(file: Path) -> Scenario:
    return script(
        Shell("ls -A; pwd -P"),
        Shell(f"cat {_FILE}"),
        RawItem({"type": "tool_use", "name": "Write", "input": {"file_path": str(file), "content": _GREETING}}),
        Shell(f"wc -c {_FILE}"),
        f"I created {_FILE}; it did not exist before.",
    )


@contextmanager
def stage_demo(root: Path, binary: str | None) -> Iterator[Demo]:
    """Serve a scripted model during the block, and yield a run that uses it. All files are below `root`."""
    # An empty HOME, so that the agent's shells read no profile. Requests to the loopback do not use a proxy.
    home, temporary, workspace = root / "home", root / "tmp", root / "workspace"
    for directory in (home, temporary, workspace):
        directory.mkdir()
    with ModelServer(_scenario(workspace / _FILE)) as server:
        env = {
            **{"HOME": str(home), "TMPDIR": str(temporary), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
            **{"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.port}", "ANTHROPIC_API_KEY": "sk-ant-demo"},
        }
        config = ClaudeConfig(binary=binary, config_dir=str(root / "config"))
        introduction = ""
        try:
            found = find_binary(config, merge_environment(os.environ, config, {}, RunOptions()))
            introduction = f"The real Claude Code: {found.path}"
        except SpawnError:
            pass  # the run reports it
        # The commands are fixed and harmless, and many containers do not support the CLI's sandbox.
        extensions = {keys.SANDBOX_MODE: "danger-full-access", keys.TOOL_PAYLOADS: "full"}
        request = RunRequest(prompt=_PROMPT, working_dir=str(workspace), env=env, extensions=extensions, timeout=120)
        yield Demo(introduction, request, config, workspace / _FILE)
