"""Which tools MCP servers have, asked of the servers themselves (U11)."""

from __future__ import annotations

from codex_adapter.spaces.mcp.errors import ServerError
from codex_adapter.spaces.mcp.listing import list_all_tools, list_tools

__all__ = ["ServerError", "list_all_tools", "list_tools"]
