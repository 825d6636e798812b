"""Prepare a demo run of the Codex CLI with a scripted model, without an account and without network (C3)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from codex_adapter.agent import Demo
from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.command import merge_environment
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.errors import SpawnError
from codex_adapter.request import RunRequest
from codex_adapter.testing import (
    ModelServer,
    Patch,
    Reasoning,
    Scenario,
    Shell,
    answer,
    demo_script,
    script,
    write_agent,
)

__all__ = ["stage_demo"]

_PROMPT: Final = "Have a look around, and leave me a greeting in hello.txt."
_MODEL: Final = "gpt-5.5"
"""A model that most releases know. With an unknown model they work too, but print a warning."""
_FILE: Final = "hello.txt"
_GREETING: Final = "Hello from the Codex CLI.\n"
_PATCH: Final = f"*** Begin Patch\n*** Add File: {_FILE}\n+{_GREETING}*** End Patch"


def _scenario() -> Scenario:
    return script(
        answer(Reasoning(("**Looking around**\n\nThe workspace first, then the greeting.",)), Shell("ls -A; pwd -P")),
        Shell(f"cat {_FILE}"),
        Patch(_PATCH),
        Shell(f"wc -c {_FILE}"),
        f"I created {_FILE}; it did not exist before.",
    )


@contextmanager
def stage_demo(root: Path, binary: str | None) -> Iterator[Demo]:
    """Serve a scripted model during the block, and yield a run that uses it. All files are below `root`.

    If no CLI is installed and `binary` is None, a scripted agent replaces the CLI.
    """
    # An empty HOME, so that the agent's shells read no profile. Requests to the loopback do not use a proxy.
    home, temporary, workspace = root / "home", root / "tmp", root / "workspace"
    for directory in (home, temporary, workspace):
        directory.mkdir()
    env = {"HOME": str(home), "TMPDIR": str(temporary), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with ModelServer(_scenario()) as server:
        config = CodexConfig(binary=binary, codex_home=server.write_codex_home(root / "codex_home", model=_MODEL))
        introduction = ""
        try:
            introduction = f"The real Codex CLI: {find_binary(config, merge_environment(os.environ, config, {})).path}"
        except SpawnError as error:
            if binary is None and error.not_found:
                agent = write_agent(root / "agent", demo_script(path=str(workspace / _FILE), text=_GREETING, pause=0.2))
                introduction = f"A scripted agent, not the real Codex CLI. {error.advice}"
                config = replace(config, binary=agent)
        # The commands are fixed and harmless, and many containers do not support the CLI's sandbox.
        extensions = {keys.SANDBOX_MODE: "danger-full-access", keys.TOOL_PAYLOADS: "full"}
        request = RunRequest(prompt=_PROMPT, working_dir=str(workspace), env=env, extensions=extensions, timeout=120)
        yield Demo(introduction, request, config, workspace / _FILE)
