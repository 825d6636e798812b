"""What a tool was asked and what it answered, cut and masked, for those who ask for full payloads (M7)."""

from __future__ import annotations

from typing import Final

import msgspec

from codex_adapter.core.bounds import DATA_LIMIT
from codex_adapter.core.masking import Masker
from codex_adapter.core.thread_events import (
    CollabToolCall,
    CommandExecution,
    FileChange,
    Item,
    McpToolCall,
    WebSearch,
)
from codex_adapter.events import PayloadText, Tool, ToolCall, ToolInput, ToolOutput

__all__ = ["with_payloads"]

PAYLOAD_LIMIT: Final = 16 * 1024

_encode = msgspec.json.Encoder().encode


def with_payloads(tool: Tool, item: Item, masker: Masker) -> ToolCall:
    """The tools facet with input and output; payloads shrink until the facet keeps to its bound (M7, B4)."""
    limit = PAYLOAD_LIMIT
    while True:
        facet = ToolCall(tool, _input(item, masker, limit), _output(item, masker, limit))
        if limit == 0 or len(_encode(facet)) <= DATA_LIMIT:
            return facet
        limit = limit // 2 if limit > 16 else 0


def _input(item: Item, masker: Masker, limit: int) -> ToolInput | None:
    def text(value: str | None) -> PayloadText | None:
        return _payload(value, masker, limit)

    if isinstance(item, CommandExecution):
        return ToolInput(command=text(item.command))
    if isinstance(item, FileChange):
        return ToolInput(changes=text(_encode(item.changes).decode()))
    if isinstance(item, McpToolCall):
        return ToolInput(server=text(item.server), tool=text(item.tool), arguments=text(_json_text(item.arguments)))
    if isinstance(item, CollabToolCall):
        return ToolInput(tool=text(item.tool), arguments=text(item.prompt))
    if isinstance(item, WebSearch):
        return ToolInput(query=text(item.query), arguments=text(_json_text(item.action)))
    return None


def _output(item: Item, masker: Masker, limit: int) -> ToolOutput | None:
    def text(value: str | None) -> PayloadText | None:
        return _payload(value, masker, limit)

    if isinstance(item, CommandExecution):
        return ToolOutput(aggregated_output=text(item.aggregated_output or (item.stdout + item.stderr) or None))
    if isinstance(item, FileChange):
        return ToolOutput(aggregated_output=text((item.stdout + item.stderr) or None), result=text(item.diff or None))
    if isinstance(item, McpToolCall):
        return ToolOutput(result=text(_json_text(item.result)), error=text(_json_text(item.error)))
    if isinstance(item, CollabToolCall):
        return ToolOutput(result=text(_json_text(item.agents_states)))
    return None


def _json_text(raw: msgspec.Raw) -> str | None:
    """The JSON text of a value the parser left undecoded; None for null and for a value that is not there."""
    text = bytes(raw).decode(errors="replace")
    return None if text in ("", "null") else text


def _payload(value: str | None, masker: Masker, limit: int) -> PayloadText | None:
    if value is None:
        return None
    # Masked a little beyond the cut, so that a credential that lies across it is still known for one.
    masked = masker.mask(value[: limit + masker.reach])
    kept = masked[:limit].encode()[:limit].decode(errors="ignore")
    return PayloadText(kept, truncated=len(kept) < len(masked) or len(value) > limit + masker.reach)
