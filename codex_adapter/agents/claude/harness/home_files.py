"""Convert an environment to files of a configuration directory: settings, instructions, hooks and servers (U9)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from codex_adapter.harness.hooks import hook_groups, hooks_by_event
from codex_adapter.spaces import Environment, Server

__all__ = ["home_files"]

_PLAIN: Final = re.compile(r"/[A-Za-z0-9._/-]+", re.ASCII)
"""A path without a character that means something in a permission rule."""
_LITERAL: Final = re.compile(r"\\[^AZ]|\[\^?\]?[^\]]*\]", re.DOTALL)
_UNKNOWN_TO_THE_CLI: Final = re.compile(r"\(\?(?:[aiLmsux-]+[:)]|P[<=>]|#|>|\()|\\[AZ]|[*+?}]\+")
"""Syntax of Python's regular expressions that those of JavaScript do not have, after literals are removed."""


def home_files(
    environment: Environment, settings: dict[str, Any], *, home: Path, key: str | None, files: Sequence[str]
) -> dict[str, bytes]:
    """Return the files of a configuration directory by name. `home` is its path (U9).

    `settings` are the user's, `key` is the API key of the user's login, `files` are attachments that the agent may
    read. Raise `TurnError` if the CLI does not support a hook.
    """
    permissions = {"allow": _allowed(environment, home, files), **settings.get("permissions", {})}
    settings = {**settings, "permissions": permissions, "autoMemoryEnabled": False, "disableBundledSkills": True}
    if environment.hooks:
        settings["hooks"] = hooks_by_event(hook_groups(environment.hooks, _unsupported))
    state: dict[str, Any] = {"mcpServers": {server.name: _server(server) for server in environment.servers}}
    if key is not None:
        state["primaryApiKey"] = key
    found = {"settings.json": msgspec.json.encode(settings), ".claude.json": msgspec.json.encode(state)}
    instructions = environment.instructions.strip()
    return {**found, "CLAUDE.md": f"{instructions}\n".encode()} if instructions else found


def _allowed(environment: Environment, home: Path, files: Sequence[str]) -> list[str]:
    """Return the rules for tools that need no approval: those of MCP servers, and reads of skills and attachments."""
    paths = [f"{home}/skills/**", *files] if environment.skills else files
    reads = [f"Read(/{path})" for path in paths if _PLAIN.fullmatch(path.removesuffix("**"))]
    return [*(f"mcp__{server.name}" for server in environment.servers), *reads]


def _server(server: Server) -> dict[str, Any]:
    """Return the settings of a server. The CLI has none for a working directory, so a shell changes to it."""
    if server.url is not None:
        return {"type": "http", "url": server.url}
    command, args = str(server.command), list(server.args)
    if server.cwd is not None:
        args = ["-c", 'cd -- "$0" && exec "$@"', server.cwd, command, *args]
        command = "/bin/sh"
    return {"type": "stdio", "command": command, "args": args, "env": dict(server.env)}


def _unsupported(matcher: str) -> str | None:
    if _UNKNOWN_TO_THE_CLI.search(_LITERAL.sub("", matcher)):
        return (
            "has syntax that Claude Code does not support. "
            "Remove inline flags, Python's groups, comments, possessive quantifiers, \\A and \\Z."
        )
    return None
