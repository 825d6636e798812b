"""Which tools MCP servers have, asked of the servers themselves (U11)."""

from __future__ import annotations

from codex_adapter.protocols.turns.mcp.errors import ServerError
from codex_adapter.protocols.turns.mcp.listing import list_all_tools, list_tools

__all__ = ["ServerError", "list_all_tools", "list_tools"]
