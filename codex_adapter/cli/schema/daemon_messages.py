"""Derive the JSON Schema of the messages between a daemon and its supervisor from their types (C5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from codex_adapter.cli.serve.turns_service import TURN_METHODS, TurnEventParams
from codex_adapter.daemon.jsonrpc import Error
from codex_adapter.daemon.messages import METHODS, Method
from codex_adapter.member_texts import describe_members

__all__ = ["message_definitions"]

_METHODS: Final[Mapping[str, Method]] = {**METHODS, **TURN_METHODS}
_REF: Final = "#/$defs/{name}"
_VERSION: Final = {"const": "2.0"}
_ID: Final = {"type": ["string", "number", "null"]}
_CALL_ID: Final = {**_ID, "description": "An id for the answer. Without it, there is no answer."}
_ANSWER_ID: Final = {**_ID, "description": "The id of the request."}
_COUNT: Final = {"type": "integer", "minimum": 0}
_EVENT: Final = {"$ref": "#/$defs/EventRecord"}
_COMPLETION: Final = {"oneOf": [{"$ref": "#/$defs/CompletedRecord"}, {"$ref": "#/$defs/FailedRecord"}]}
_UNTYPED: Final[Mapping[tuple[str, str], Any]] = {
    ("StartParams", "request"): {"$ref": "#/$defs/RunRequest"},
    ("EventsResult", "events"): {"type": "array", "items": _EVENT},
    ("EventsResult", "completion"): _COMPLETION,
}
"""Fields that messages pass on unchanged; their types are defined elsewhere."""
_NOTIFICATIONS: Final = {"run/event": ("event", _EVENT), "run/completed": ("completion", _COMPLETION)}


def message_definitions() -> dict[str, Any]:
    """Return definitions by name: `FromSupervisor` and `ToSupervisor` for a line in each direction, and their parts.

    They refer to `EventRecord`, `CompletedRecord`, `FailedRecord` and `RunRequest`, which must be in the same schema.
    """
    kinds = {kind for method in _METHODS.values() for kind in method if kind is not None}
    _, made = msgspec.json.schema_components((*kinds, Error, TurnEventParams), ref_template=_REF)
    # Some defaults are tuples, which JSON makes lists.
    definitions: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(made))
    for name, definition in definitions.items():
        if not name.endswith(("Params", "Request")) and name != "Affected":
            optional = [field for field, schema in definition["properties"].items() if schema.pop("default", 0) is None]
            definition["required"] = [field for field in definition["properties"] if field not in optional]
    for name, field in _UNTYPED:
        definitions[name]["properties"][field] = _UNTYPED[name, field]
    describe_members(definitions, (*kinds, Error, TurnEventParams))
    definitions["RpcError"] = {**definitions.pop("Error"), "title": "RpcError"}
    requests = {f"{_title(name)}Call": _call(name, method) for name, method in _METHODS.items()}
    answers = {f"{_title(name)}Answer": _answer(method) for name, method in _METHODS.items() if method.result}
    answers["Refusal"] = _object(
        "An error instead of a result.", id=_ANSWER_ID, error=_described("RpcError", "The error.")
    )
    notifications = {f"{_title(name)}Notification": _notification(name, *of) for name, of in _NOTIFICATIONS.items()}
    event = _object(
        "An event of a turn.", method={"const": "turns/event"}, params=_described("TurnEventParams", "The event.")
    )
    notifications["TurnsEventNotification"] = event
    return {
        **definitions,
        **requests,
        **answers,
        **notifications,
        "FromSupervisor": {"description": "A line to the daemon.", "anyOf": _or_batch(requests)},
        "ToSupervisor": {
            "description": "A line from the daemon.",
            "anyOf": [*_or_batch(answers), *map(_ref, notifications)],
        },
    }


def _call(name: str, method: Method) -> dict[str, Any]:
    """Return the schema of a request, or of a notification, which has no id."""
    needed = any(field.required for field in msgspec.structs.fields(method.params))
    params = _described(method.params.__name__, "The parameters.")
    call = _object(
        f"A call of {name}. With an id, it gets an answer.", method={"const": name}, params=params, id=_CALL_ID
    )
    return {**call, "required": ["jsonrpc", "method", *(["params"] if needed else [])]}


def _answer(method: Method) -> dict[str, Any]:
    result = method.result or method.params
    return _object("The result of a request.", id=_ANSWER_ID, result=_described(result.__name__, "The result."))


def _notification(name: str, field: str, body: Any) -> dict[str, Any]:
    run_id = {"type": "string", "description": "The id of the run."}
    seq = {**_COUNT, "description": f"The number of the {field}."}
    params = {"runId": run_id, "seq": seq, field: {**body, "description": f"The {field}."}}
    schema = {"type": "object", "description": "The news.", "properties": params, "required": list(params)}
    return _object("A notification about a run.", method={"const": name}, params=schema)


def _object(description: str, **members: Any) -> dict[str, Any]:
    properties = {"jsonrpc": _VERSION, **members}
    return {
        "description": description,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _or_batch(names: Mapping[str, Any]) -> list[Any]:
    one = [_ref(name) for name in names]
    return [*one, {"type": "array", "items": {"anyOf": one}, "minItems": 1}]


def _described(name: str, description: str) -> dict[str, str]:
    return {**_ref(name), "description": description}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}


def _title(method: str) -> str:
    return re.sub(r"(?:^|/)([a-z])", lambda match: match[1].upper(), method)
