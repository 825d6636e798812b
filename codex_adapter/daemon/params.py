"""Parse the params of a call and the request of a run, and refuse wrong ones (J3, J5).

A refusal names the wrong member and the accepted values, never the value itself.
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
from codex_adapter.strict_decode import FieldError, read_struct

__all__ = ["read_params", "read_request", "refusal_of"]

_P = TypeVar("_P", bound=msgspec.Struct)
_REQUEST_FIELDS: Final = frozenset(RunRequest.__struct_fields__)
_members = msgspec.json.Decoder(dict[str, Raw])


def read_params(text: Raw, kind: type[_P]) -> _P:
    """Return the params of a call. Raise `Fault` (-32602), which names the member and what it accepts (J5)."""
    members = _read_members(text)
    names = kind.__struct_encode_fields__
    if kind.__struct_config__.forbid_unknown_fields and not members.keys() <= {*names}:
        accepted = f"only {', '.join(names)}" if names else "none"
        raise Fault(INVALID_PARAMS, f"params has a member that this method does not accept. It accepts {accepted}")
    try:
        return read_struct(kind, members)
    except FieldError as error:
        raise Fault(INVALID_PARAMS, f"{error.field} {error.rule}") from None


def read_request(fields: Mapping[str, Any]) -> RunRequest:
    """Return a request with these fields. The run checks their values. Raise `InvalidRequestError` for other fields."""
    if not fields.keys() <= _REQUEST_FIELDS:
        accepted = ", ".join(sorted(_REQUEST_FIELDS))
        raise InvalidRequestError(f"the request must be an object with only these fields: {accepted}")
    return RunRequest(**{"prompt": "", **fields})


def refusal_of(error: AdapterError) -> Fault:
    """Return the answer to a `run/start` that is refused with this error (J5)."""
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
