"""Derive the JSON Schemas (draft-07) of the messages from their types (O6)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final, get_args

import msgspec

from codex_adapter.member_texts import describe_members
from codex_adapter.protocols.operations.events import OperationEvent
from codex_adapter.protocols.operations.messages import PROTOCOL_VERSION, EventsMessage
from codex_adapter.protocols.operations.operations import OPERATIONS

__all__ = ["events_schema", "operations_schema"]

_DIALECT: Final = "http://json-schema.org/draft-07/schema#"
_REF: Final = "#/definitions/{name}"


def operations_schema() -> dict[str, Any]:
    """Return the schema of an operations message, without the rules of paths and the size of files (O2, O6)."""
    properties = {
        "protocolVersion": {"const": PROTOCOL_VERSION},
        "operations": {
            "type": "array",
            "items": {"$ref": _REF.format(name="Operation")},
            "description": "The operations, which are executed in their order.",
        },
    }
    definitions = {"Operation": _one_of(OPERATIONS.values()), **_definitions([*OPERATIONS.values()])}
    return {
        "$schema": _DIALECT,
        "title": "OperationsMessage",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "definitions": definitions,
    }


def events_schema() -> dict[str, Any]:
    """Return the schema of an events message (O6)."""
    events = get_args(OperationEvent)
    definitions = {"OperationEvent": _one_of(events), **_definitions((EventsMessage, *events))}
    definitions["MessageEvent"]["properties"]["success"] = {"const": True}
    definitions["MessageEvent"]["required"].append("success")
    message = definitions.pop("EventsMessage")
    message["properties"] |= {
        "protocolVersion": {"const": PROTOCOL_VERSION},
        "events": {**message["properties"]["events"], "items": {"$ref": _REF.format(name="OperationEvent")}},
    }
    return {"$schema": _DIALECT, **message, "required": list(message["properties"]), "definitions": definitions}


def _definitions(kinds: Collection[type[msgspec.Struct]]) -> dict[str, Any]:
    _, definitions = msgspec.json.schema_components(tuple(kinds), schema_hook=_schema_of_text, ref_template=_REF)
    for definition in definitions.values():
        properties = definition["properties"]
        if "type" in properties:
            properties["type"] = {"const": properties["type"]["enum"][0]}
    describe_members(definitions, kinds)
    return definitions


def _schema_of_text(_kind: type[Any]) -> dict[str, Any]:
    return {"type": "string"}


def _one_of(kinds: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    return {"oneOf": [{"$ref": _REF.format(name=kind.__name__)} for kind in kinds]}
