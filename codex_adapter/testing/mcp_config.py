"""Configure the CLI to use the scripted MCP server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

__all__ = ["MCP_SERVER", "mcp_config"]

MCP_SERVER = str(Path(__file__).with_name("mcp_server.py"))
"""Path of the scripted MCP server. Run it with `python -I -S`. (TK3)"""


def mcp_config(
    name: str = "scripted",
    *,
    mode: Literal["ok", "die", "garbage"] = "ok",
    tool_timeout: float | None = None,
    required: bool = False,
) -> str:
    """Return a line for the CLI's `config.toml` that configures the scripted MCP server under this name.

    `mode` is the behavior of the server. `tool_timeout` is the time in seconds that the CLI waits for a tool. If a
    `required` server cannot start, the CLI does not start.
    """
    arguments = json.dumps(["-I", "-S", MCP_SERVER, mode])
    limit = "" if tool_timeout is None else f", tool_timeout_sec = {tool_timeout}"
    limit += ", required = true" if required else ""
    return f"mcp_servers.{name} = {{ command = {json.dumps(sys.executable)}, args = {arguments}{limit} }}\n"
