"""Locate the files in which the CLI keeps the user's login and state (X5, U9)."""

from __future__ import annotations

from collections.abc import Mapping

from codex_adapter.agents.claude.command import config_directory

__all__ = ["login_directory", "state_file"]

_LOGIN_PLACE = "CLAUDE_SECURESTORAGE_CONFIG_DIR"


def login_directory(env: Mapping[str, str]) -> str | None:
    """Return the directory of `.credentials.json`, or None if `env` does not name it. The path can be relative."""
    if _LOGIN_PLACE not in env:
        return config_directory(env)
    return env[_LOGIN_PLACE] or (f"{env['HOME']}/.claude" if env.get("HOME") else None)


def state_file(env: Mapping[str, str]) -> str | None:
    """Return the path of `.claude.json`, or None if `env` does not name it. The path can be relative.

    Without CLAUDE_CONFIG_DIR, the file is beside the directory of the CLI's other files.
    """
    directory = env.get("CLAUDE_CONFIG_DIR") or env.get("HOME")
    return f"{directory}/.claude.json" if directory else None
