"""Build the command line that logs in the Codex CLI (C16)."""

from __future__ import annotations

import os
from collections.abc import Sequence

from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.command import merge_environment
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.runtime.agent_home import create_home

__all__ = ["login_command"]


def login_command(config: CodexConfig, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Create the CODEX_HOME, and return the argv and the environment of `BINARY login ARGUMENTS` (C16, C22).

    Raise `SpawnError` if no CLI is found, and `InvalidRequestError` if the CODEX_HOME cannot be created.
    """
    environ = merge_environment(os.environ, config, {})
    binary = find_binary(config, environ)
    create_home("CODEX_HOME", "codex_home", environ)
    return [binary.path, "login", *arguments], environ
