"""Older and wrapper shapes -> today's shape, as plain JSON values (T2).

Only lines that today's structs refused come here. What cannot be a known event is told apart as `Unknown`; everything
else goes back to the structs, which have the last word on fields and types.
"""

from __future__ import annotations

from typing import Any

import msgspec

from codex_adapter.core.thread_events import Unknown

__all__ = ["modernize"]

_encode = msgspec.json.Encoder().encode

_LINE_TYPES = {
    "thread.started": "thread.started",
    "thread.resumed": "thread.started",
    "session.created": "thread.started",
    "turn.started": "turn.started",
    "turn.completed": "turn.completed",
    "turn.failed": "turn.failed",
    "item.started": "item.started",
    "item.created": "item.started",
    "item.updated": "item.updated",
    "item.delta": "item.updated",
    "item.completed": "item.completed",
    "item.failed": "item.failed",
    "error": "error",
}
_ITEM_TYPES = {
    "agent_message": "agent_message",
    "assistant_message": "agent_message",
    "reasoning": "reasoning",
    "command_execution": "command_execution",
    "file_change": "file_change",
    "mcp_tool_call": "mcp_tool_call",
    "collab_tool_call": "collab_tool_call",
    "web_search": "web_search",
    "todo_list": "todo_list",
    "error": "error",
}
# What a failed item may lack: it is told by its error.
_FAILED: dict[str, dict[str, Any]] = {
    "agent_message": {"text": ""},
    "reasoning": {"text": ""},
    "todo_list": {"items": []},
    "error": {"message": "item failed"},
}
_UNDECODED = frozenset({"arguments", "result", "error", "action", "agents_states"})
_ITEM_KEYS = {"item_id": "id", "server_name": "server", "tool_name": "tool"}
_THREAD_ID_KEYS = ("thread_id", "conversation_id", "session_id", "id")
_LINE_KEYS = frozenset({"type", "thread_id", "turn_id", "conversation_id"})


def modernize(line: dict[str, Any], line_type: str) -> dict[str, Any] | Unknown:
    """Today's shape of a line of type `line_type`, or Unknown when no release is known to print it (T2, T4)."""
    known = _LINE_TYPES.get(line_type)
    if known is None:
        return Unknown(type=line_type, item_type=_item_type_of(line))
    if known == "thread.started":
        return {"type": known, **_first(line, _THREAD_ID_KEYS, "thread_id")}
    if not known.startswith("item."):
        return {**line, "type": known}
    item_type = _item_type_of(line)
    if item_type is not None and item_type not in _ITEM_TYPES:
        return Unknown(type=line_type, item_type=item_type)
    failed = known == "item.failed"
    if failed and item_type is None:
        item_type = "error"
    context: dict[str, Any] = {
        key: line[key] for key in ("thread_id", "turn_id", "conversation_id", "error") if key in line
    }
    item: Any = line.get("item")
    if item is None:
        item = {key: value for key, value in line.items() if key not in _LINE_KEYS}
    if isinstance(item, dict):
        item = _modern_item(item, item_type, fragments=line_type == "item.delta")
        if failed:
            item = {**_FAILED.get(item["type"], {}), **item}
    return {**context, "type": known, "item": item}


def _item_type_of(line: dict[str, Any]) -> str | None:
    item = line.get("item")
    holder = item if isinstance(item, dict) else {}
    for name in (holder.get("type"), holder.get("item_type"), line.get("item_type")):
        if isinstance(name, str):
            return name
    return None


def _modern_item(item: dict[str, Any], item_type: str | None, *, fragments: bool) -> dict[str, Any]:
    modern = _renamed(item)
    for wrapper in ("content", "delta"):
        inner = modern.pop(wrapper, None)
        if isinstance(inner, str):
            inner = {"text" if wrapper == "content" else "text_delta": inner}
        if isinstance(inner, dict):
            modern = {**_renamed(inner), **modern}
    fragment = modern.pop("text_delta", None)
    if "text" not in modern and fragment is not None:
        modern["text"] = fragment
        fragments = True
    if item_type is not None:
        modern["type"] = _ITEM_TYPES[item_type]
    modern["$delta"] = fragments
    return {key: msgspec.Raw(_encode(value)) if key in _UNDECODED else value for key, value in modern.items()}


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {_ITEM_KEYS.get(key, key): value for key, value in fields.items()}


def _first(line: dict[str, Any], keys: tuple[str, ...], name: str) -> dict[str, Any]:
    for key in keys:
        if line.get(key) is not None:
            return {name: line[key]}
    return {}
