"""List the payloads of each tool item (M7)."""

from __future__ import annotations

import msgspec

from codex_adapter.agents.codex.stream.lines import CollabToolCall, CommandExecution, FileChange, McpToolCall
from codex_adapter.agents.codex.stream.tools import ToolItem
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.payloads import facet_with_payloads, json_text
from codex_adapter.events import Tool, ToolCall

__all__ = ["with_payloads"]

_encode = msgspec.json.Encoder().encode


def with_payloads(tool: Tool, item: ToolItem, masker: Masker, unmasked: list[str]) -> ToolCall:
    """Return the tools facet with input and output, as `facet_with_payloads` does (M7)."""
    return facet_with_payloads(tool, _input(item), _output(item), masker, unmasked)


def _input(item: ToolItem) -> dict[str, str | None]:
    if isinstance(item, CommandExecution):
        return {"command": item.command}
    if isinstance(item, FileChange):
        return {"changes": _encode(item.changes).decode()}
    if isinstance(item, McpToolCall):
        return {"server": item.server, "tool": item.tool, "arguments": json_text(item.arguments)}
    if isinstance(item, CollabToolCall):
        return {"tool": item.tool, "arguments": item.prompt}
    return {"query": item.query, "arguments": json_text(item.action)}


def _output(item: ToolItem) -> dict[str, str | None]:
    if isinstance(item, CommandExecution):
        return {"aggregated_output": item.aggregated_output or (item.stdout + item.stderr) or None}
    if isinstance(item, FileChange):
        return {"aggregated_output": (item.stdout + item.stderr) or None, "result": item.diff or None}
    if isinstance(item, McpToolCall):
        return {"result": json_text(item.result), "error": json_text(item.error)}
    if isinstance(item, CollabToolCall):
        return {"result": json_text(item.agents_states)}
    return {}
