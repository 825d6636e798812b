"""Convert older and wrapped forms of lines to the current form, as JSON (T2).

Only lines that the current structs refused are converted. A line that cannot be a known event is `Unknown`. Each other
line is decoded by the structs again, which check fields and types. Values are moved undecoded, so that a line needs no
more memory than its length.
"""

from __future__ import annotations

from typing import TypeAlias, TypeGuard

import msgspec

from codex_adapter.agents.codex.stream.lines import Unknown

__all__ = ["modernize"]

Fields: TypeAlias = dict[str, msgspec.Raw]

_encode = msgspec.json.Encoder().encode
_decode_fields = msgspec.json.Decoder(Fields).decode
_decode_text = msgspec.json.Decoder(str).decode

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
# The fields that a failed item may omit, because its error describes it.
_FAILED: dict[str, Fields] = {
    "agent_message": {"text": msgspec.Raw(b'""')},
    "reasoning": {"text": msgspec.Raw(b'""')},
    "todo_list": {"items": msgspec.Raw(b"[]")},
    "error": {"message": msgspec.Raw(b'"item failed"')},
}
_NULL = msgspec.Raw(b"null")
_ITEM_KEYS = {"item_id": "id", "server_name": "server", "tool_name": "tool"}
_THREAD_ID_KEYS = ("thread_id", "conversation_id", "session_id", "id")
_LINE_KEYS = frozenset({"type", "thread_id", "turn_id", "conversation_id"})


def modernize(line: bytes | bytearray) -> bytes | Unknown | None:
    """Return a line in the current form, or Unknown if no known release prints it (T2, T4).

    Return None if its type is missing or not a string. Raise the errors of the decoder: `msgspec.ValidationError` if
    the line is not an object.
    """
    fields = _decode_fields(line)
    line_type = _text(fields.get("type"))
    if line_type is None:
        return None
    known = _LINE_TYPES.get(line_type)
    item_type = _item_type_of(fields)
    if known is None:
        return Unknown(type=line_type, item_type=item_type)
    if known == "thread.started":
        fields = _first(fields, _THREAD_ID_KEYS, "thread_id")
    elif known.startswith("item."):
        if item_type is not None and item_type not in _ITEM_TYPES:
            return Unknown(type=line_type, item_type=item_type)
        fields = _modern_line(fields, item_type, line_type, failed=known == "item.failed")
    return _encode({**fields, "type": known})


def _modern_line(line: Fields, item_type: str | None, line_type: str, *, failed: bool) -> Fields:
    modern: Fields = {key: line[key] for key in ("thread_id", "turn_id", "conversation_id", "error") if key in line}
    if failed and item_type is None:
        item_type = "error"
    item = line.get("item", _NULL)
    fields = _object(item)
    if _is_null(item):
        fields = {key: value for key, value in line.items() if key not in _LINE_KEYS}
    if fields is not None:
        fields = _modern_item(fields, item_type, fragments=line_type == "item.delta")
        if failed and item_type is not None:
            fields = {**_FAILED.get(_ITEM_TYPES[item_type], {}), **fields}
        item = msgspec.Raw(_encode(fields))
    modern["item"] = item
    return modern


def _modern_item(item: Fields, item_type: str | None, *, fragments: bool) -> Fields:
    modern = _renamed(item)
    for wrapper in ("content", "delta"):
        inner = modern.pop(wrapper, None)
        if _is_text(inner):
            modern.setdefault("text" if wrapper == "content" else "text_delta", inner)
        else:
            modern = {**_renamed(_object(inner) or {}), **modern}
    fragment = modern.pop("text_delta", None)
    if "text" not in modern and fragment is not None:
        modern["text"] = fragment
        fragments = True
    if item_type is not None:
        modern["type"] = msgspec.Raw(_encode(_ITEM_TYPES[item_type]))
    modern["$delta"] = msgspec.Raw(b"true" if fragments else b"false")
    return modern


def _item_type_of(line: Fields) -> str | None:
    holder = _object(line.get("item")) or {}
    for name in (holder.get("type"), holder.get("item_type"), line.get("item_type")):
        text = _text(name)
        if text is not None:
            return text
    return None


def _renamed(fields: Fields) -> Fields:
    return {_ITEM_KEYS.get(key, key): value for key, value in fields.items()}


def _first(line: Fields, keys: tuple[str, ...], name: str) -> Fields:
    for key in keys:
        if key in line and not _is_null(line[key]):
            return {name: line[key]}
    return {}


def _is_text(value: msgspec.Raw | None) -> TypeGuard[msgspec.Raw]:
    return value is not None and bytes(memoryview(value)[:1]) == b'"'


def _is_null(value: msgspec.Raw) -> bool:
    return bytes(memoryview(value)[:1]) == b"n"


def _text(value: msgspec.Raw | None) -> str | None:
    return _decode_text(value) if _is_text(value) else None


def _object(value: msgspec.Raw | None) -> Fields | None:
    if value is None or bytes(memoryview(value)[:1]) != b"{":
        return None
    return _decode_fields(value)
