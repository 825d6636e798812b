"""Build the command line that logs in Claude Code (C16)."""

from __future__ import annotations

import os
from collections.abc import Sequence

from codex_adapter.agents.claude.binary import find_binary
from codex_adapter.agents.claude.command import merge_environment
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.runtime.agent_home import create_home

__all__ = ["login_command"]


def login_command(config: ClaudeConfig, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Create the configuration directory, and return argv and environment of `BINARY auth ARGUMENTS` (C16, C22).

    Without arguments, or if the first one is an option, the argument `login` precedes them. `setup-token` is a command
    of its own. Raise `SpawnError` if no CLI is found, and `InvalidRequestError` if the directory cannot be created.
    """
    environ = merge_environment(os.environ, config, {}, RunOptions())
    binary = find_binary(config, environ)
    create_home("CLAUDE_CONFIG_DIR", "config_dir", environ)
    if arguments[:1] == ["setup-token"]:
        return [binary.path, *arguments], environ
    words = ["login"] if not arguments or arguments[0].startswith("-") else []
    return [binary.path, "auth", *words, *arguments], environ
