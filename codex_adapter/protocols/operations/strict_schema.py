"""Derive the output schema of an agent, in the strict subset of JSON Schema, and read its output (O6).

In that subset every member is required, and null stands for one that is left out; objects with arbitrary members do not
exist, so that `env` is not offered.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Raw

from codex_adapter.protocols.operations.json_text import NotJSON, elements, members, string
from codex_adapter.protocols.operations.messages import MOST_OPERATIONS
from codex_adapter.protocols.operations.operations import OPERATIONS
from codex_adapter.protocols.operations.schema import operations_schema

__all__ = ["agent_schema", "without_nulls"]

_MESSAGE: Final = ("protocolVersion", "operations")
_NULL: Final = Raw(b"null")
_NOT_OFFERED: Final = "env"
_KEPT: Final = ("description", "enum")
"""Descriptions have the limits; not every model accepts them as keywords."""


def agent_schema() -> dict[str, Any]:
    """Return the output schema for an agent; `without_nulls` makes an operations message of its output (O6)."""
    schema = operations_schema()
    definitions = schema["definitions"]
    operations = [_strict(definitions[kind.__name__], definitions) for kind in OPERATIONS.values()]
    return _object(
        {
            "protocolVersion": _constant(schema["properties"]["protocolVersion"]),
            "operations": {"type": "array", "items": {"anyOf": operations}},
        }
    )


def without_nulls(text: bytes) -> bytes:
    """Return a message of a model without members that are null and may be absent; other text stays as it is.

    Members that an operation does not have are left out too.
    """
    try:
        message = members(text, _MESSAGE)
        operations = elements((message or {}).get("operations", _NULL), MOST_OPERATIONS)
        if message is None or operations is None:
            return text
        return msgspec.json.encode(message | {"operations": [_without_nulls(operation) for operation in operations]})
    except NotJSON:
        return text


def _strict(definition: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a definition in the subset, with its references resolved."""
    offered = {name: given for name, given in definition["properties"].items() if name != _NOT_OFFERED}
    return _object({name: _member(name, given, definition, definitions) for name, given in offered.items()})


def _member(
    name: str, given: dict[str, Any], definition: dict[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    if "const" in given:
        return _constant(given)
    member: dict[str, Any] = {key: given[key] for key in _KEPT if key in given}
    if given.get("type") == "array":
        item = definitions[given["items"]["$ref"].rpartition("/")[2]]
        return {"type": "array", **member, "items": _strict(item, definitions)}
    kind = given.get("type", "string")
    if name in definition["required"]:
        return {"type": kind, **member}
    if "enum" in member:
        member["enum"] = [*member["enum"], None]
    return {**member, "type": [kind, "null"], "description": f"{member['description']}; null for none"}


def _constant(given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "string", "const": given["const"]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _without_nulls(operation: Raw) -> Raw | dict[str, Raw]:
    tag = members(operation, ("type",)) or {}
    kind = OPERATIONS.get(string(tag.get("type", _NULL)) or "")
    if kind is None:
        return operation
    parts = members(operation, ("type", *kind.__struct_encode_fields__)) or {}
    optional = {field.encode_name for field in msgspec.structs.fields(kind) if not field.required}
    return {name: value for name, value in parts.items() if name not in optional or bytes(value) != b"null"}
