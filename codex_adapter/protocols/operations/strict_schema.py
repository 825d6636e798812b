"""Derive the output schema of an agent, in the strict subset of JSON Schema, and read its output (O6).

In that subset, every member is required, and null means an absent member. The subset has no objects with arbitrary
members, so the schema does not have `env`.
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
"""The keywords that are kept. Descriptions have the limits, because some models refuse the keywords for limits."""


def agent_schema() -> dict[str, Any]:
    """Return the output schema for an agent. `without_nulls` converts its output to an operations message (O6)."""
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
    """Return a message of a model without optional members that are null. Other text stays as it is.

    Unknown members of an operation are removed too.
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
    offered = {name: schema for name, schema in definition["properties"].items() if name != _NOT_OFFERED}
    return _object({name: _member(name, schema, definition, definitions) for name, schema in offered.items()})


def _member(
    name: str, schema: dict[str, Any], definition: dict[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    if "const" in schema:
        return _constant(schema)
    member: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    if schema.get("type") == "array":
        item = definitions[schema["items"]["$ref"].rpartition("/")[2]]
        return {"type": "array", **member, "items": _strict(item, definitions)}
    kind = schema.get("type", "string")
    if name in definition["required"]:
        return {"type": kind, **member}
    if "enum" in member:
        member["enum"] = [*member["enum"], None]
    return {**member, "type": [kind, "null"], "description": f"{member['description']}; null if absent"}


def _constant(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "string", "const": schema["const"]}


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
