"""Convert tool items to the tools facet: name, status, and size of the output (M3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from codex_adapter.agents.codex.stream import lines as te
from codex_adapter.events import Tool, ToolBytes, ToolCall, ToolPhase, ToolStatus

__all__ = ["TOOLS", "FacetMaker", "ToolItem", "ToolMaker"]

ToolItem: TypeAlias = te.CommandExecution | te.FileChange | te.McpToolCall | te.CollabToolCall | te.WebSearch
ToolMaker: TypeAlias = Callable[[Any, ToolPhase, str | None, str | None], Tool]
"""A function from item, phase, thread id and turn id to the facet's tool."""
FacetMaker: TypeAlias = Callable[[Tool, ToolItem], ToolCall]
"""A function from a tool and its item to the facet with the item's payloads (M7)."""

_STATUSES: dict[str, ToolStatus] = {
    "pending": "pending",
    "in_progress": "running",
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "declined": "failed",
}
_NO_BYTES = ToolBytes()


def _command(item: te.CommandExecution, phase: ToolPhase, thread_id: str | None, turn_id: str | None) -> Tool:
    output, code = item.aggregated_output or item.stdout, item.exit_code
    size = _NO_BYTES
    if output or item.stderr:
        size = ToolBytes(len(output) if output.isascii() else len(output.encode()), _utf8(item.stderr))
    status = _STATUSES.get(item.status) or _status(item.status, phase, bool(code))
    return Tool(item.id, thread_id, turn_id, "command_execution", phase, status, code, size, None)


def _file_change(item: te.FileChange, phase: ToolPhase, thread_id: str | None, turn_id: str | None) -> Tool:
    size = _NO_BYTES
    if item.diff or item.stdout or item.stderr:
        size = ToolBytes(_utf8(item.stdout), _utf8(item.stderr), _utf8(item.diff))
    status = _STATUSES.get(item.status) or _status(item.status, phase, bool(item.exit_code))
    return Tool(item.id, thread_id, turn_id, "file_change", phase, status, item.exit_code, size, None)


def _mcp_tool_call(item: te.McpToolCall, phase: ToolPhase, thread_id: str | None, turn_id: str | None) -> Tool:
    size = ToolBytes(result=json_bytes(item.result))
    status = _STATUSES.get(item.status) or _status(item.status, phase, json_bytes(item.error) > 0)
    name = f"{item.server}/{item.tool}"
    return Tool(item.id, thread_id, turn_id, "mcp_tool_call", phase, status, None, size, name)


def _collab_tool_call(item: te.CollabToolCall, phase: ToolPhase, thread_id: str | None, turn_id: str | None) -> Tool:
    size = ToolBytes(result=json_bytes(item.agents_states))
    status = _STATUSES.get(item.status) or _status(item.status, phase, False)
    return Tool(item.id, thread_id, turn_id, "collab_tool_call", phase, status, None, size, item.tool)


def _web_search(item: te.WebSearch, phase: ToolPhase, thread_id: str | None, turn_id: str | None) -> Tool:
    status = _STATUSES.get(item.status) or _status(item.status, phase, False)
    return Tool(item.id, thread_id, turn_id, "web_search", phase, status, None, _NO_BYTES, None)


TOOLS: dict[type, ToolMaker] = {
    te.CommandExecution: _command,
    te.FileChange: _file_change,
    te.McpToolCall: _mcp_tool_call,
    te.CollabToolCall: _collab_tool_call,
    te.WebSearch: _web_search,
}


def _status(own: str, phase: ToolPhase, failed: bool) -> ToolStatus:
    """Return the status of an item without a known status, from the line's phase and the item's result."""
    if own:
        return "unknown"
    if phase != "complete":
        return "running"
    return "failed" if failed else "completed"


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def json_bytes(raw: msgspec.Raw) -> int:
    """Return the length of a value's JSON text in bytes, 0 for null and for a missing value."""
    length = len(memoryview(raw))
    return 0 if length == 4 and bytes(raw) == b"null" else length
