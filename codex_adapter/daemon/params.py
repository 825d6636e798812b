"""Read the params of a call and the request of a run, and refuse those that are wrong (J3, J5).

A refusal names what is wrong and what is accepted, never the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from codex_adapter import (
    AdapterError,
    BackendError,
    InvalidRequestError,
    RunRequest,
    SpawnError,
    UnsupportedCapabilityError,
)
from codex_adapter.daemon.jsonrpc import INVALID_PARAMS, RUN_REFUSED, Fault

__all__ = ["read_params", "read_request", "refusal_of"]

_P = TypeVar("_P", bound=msgspec.Struct)
_REQUEST_FIELDS: Final = frozenset(RunRequest.__struct_fields__)
_members = msgspec.json.Decoder(dict[str, Raw])


def read_params(text: Raw, kind: type[_P]) -> _P:
    """Return the params of a call. Raise `Fault` (-32602), which names the member and what it accepts (J5)."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    members = _read_members(text)
    if kind.__struct_config__.forbid_unknown_fields and not members.keys() <= fields.keys():
        accepted = f"only {', '.join(fields)}" if fields else "none"
        raise Fault(INVALID_PARAMS, f"params has a member that this method does not accept; it accepts {accepted}")
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name in members:
            values[field.name] = _read_value(name, members[name], field.type)
        elif field.required:
            raise Fault(INVALID_PARAMS, f"{name} is missing; it must be {_describe(field.type)}")
    return kind(**values)


def read_request(fields: Mapping[str, Any]) -> RunRequest:
    """Return a request of these fields; their values are checked with the run. Raise `InvalidRequestError`."""
    if not fields.keys() <= _REQUEST_FIELDS:
        accepted = ", ".join(sorted(_REQUEST_FIELDS))
        raise InvalidRequestError(f"the request must be an object with no other fields than {accepted}")
    return RunRequest(**{"prompt": "", **fields})


def refusal_of(error: AdapterError) -> Fault:
    """Return the answer to a `run/start` that this error has refused (J5)."""
    data: dict[str, str | bool | None] = {"kind": error.kind}
    if isinstance(error, BackendError):
        data |= {"failure": error.failure, "hint": error.hint, "advice": error.advice}
    if isinstance(error, SpawnError):
        data["notFound"] = error.not_found
    if isinstance(error, UnsupportedCapabilityError):
        data["capability"] = error.capability
    return Fault(RUN_REFUSED, str(error), {name: value for name, value in data.items() if value is not None})


def _read_members(params: Raw) -> dict[str, Raw]:
    text = bytes(params)
    if not text or (text.startswith(b"[") and not msgspec.json.decode(text)):
        return {}
    try:
        return _members.decode(text)
    except msgspec.MsgspecError:
        raise Fault(INVALID_PARAMS, "params must be an object, its members by name") from None


def _read_value(name: str, text: Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise Fault(INVALID_PARAMS, f"{name} must be {_describe(kind)}") from None


def _describe(kind: Any) -> str:
    """Return what a member accepts, in the words of its schema."""
    description: str = next(word.description for word in kind.__metadata__ if word.description)
    return description
