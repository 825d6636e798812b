"""Build the command line that logs in the Codex CLI (C16)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.command import merge_environment
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.errors import InvalidRequestError

__all__ = ["login_command"]


def login_command(config: CodexConfig, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Create the CODEX_HOME, and return the argv and the environment of `BINARY login ARGUMENTS` (C16, C22).

    Raise `SpawnError` if no CLI is found, and `InvalidRequestError` if the CODEX_HOME cannot be created.
    """
    environ = merge_environment(os.environ, config, {})
    binary = find_binary(config, environ)
    home = environ.get("CODEX_HOME")
    try:
        if home:
            Path(home).mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError):
        raise InvalidRequestError(
            "The directory in config.codex_home or CODEX_HOME cannot be created. Pass another directory"
        ) from None
    return [binary.path, "login", *arguments], environ
