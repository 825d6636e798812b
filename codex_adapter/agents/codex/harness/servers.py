"""An environment's MCP servers in the CLI's form, and what the agent is told of them (U9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from codex_adapter.spaces import Server

__all__ = ["server_settings", "servers_told"]

_STARTUP_SECONDS: Final = 60
_TOLD: Final = """# MCP servers

There are tools of these MCP servers: {names}. Where they are not among the tools that are listed, look for them with
`tool_search`, or call them from a script as `tools.mcp__SERVER__TOOL(...)`; `ALL_TOOLS` lists their names.
"""


def server_settings(server: Server) -> dict[str, Any]:
    """The table of a server in `config.toml` (U9).

    Nobody is there to approve of a call. Without `required`, a server that does not start, or that starts slowly, is
    missing and nothing tells.
    """
    settings: dict[str, Any] = {
        "required": True,
        "startup_timeout_sec": _STARTUP_SECONDS,
        "default_tools_approval_mode": "approve",
    }
    if server.url is not None:
        return {"url": server.url, **settings}
    settings |= {"command": server.command, "args": list(server.args), "env": dict(server.env)}
    return settings if server.cwd is None else {**settings, "cwd": server.cwd}


def servers_told(servers: Sequence[Server]) -> str:
    """A paragraph for the agent: some models are told of no server by the CLI itself. Empty where there is none."""
    return _TOLD.format(names=", ".join(f"`{server.name}`" for server in servers)) if servers else ""
