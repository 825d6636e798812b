"""Write the settings of MCP servers for the CLI, and a paragraph about them for the agent (U9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from codex_adapter.spaces import Server

__all__ = ["server_settings", "servers_paragraph"]

_STARTUP_SECONDS: Final = 60
_PARAGRAPH: Final = """# MCP servers

There are tools of these MCP servers: {names}. Where they are not among the tools that are listed, look for them with
`tool_search`, or call them from a script as `tools.mcp__SERVER__TOOL(...)`; `ALL_TOOLS` lists their names.
"""


def server_settings(server: Server) -> dict[str, Any]:
    """Return the table of a server in `config.toml` (U9).

    Calls need no approval, because no person is present. Without `required`, the CLI silently omits a server that does
    not start, or starts slowly.
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


def servers_paragraph(servers: Sequence[Server]) -> str:
    """Return a paragraph with the servers' names, which the CLI does not show to some models. It may be empty."""
    return _PARAGRAPH.format(names=", ".join(f"`{server.name}`" for server in servers)) if servers else ""
