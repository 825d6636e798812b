"""The parameters of a call out of JSON: what does not fit is named, never quoted (J5)."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from codex_adapter.daemon.jsonrpc import INVALID_PARAMS, Fault

__all__ = ["read_params"]

_P = TypeVar("_P", bound=msgspec.Struct)
_members = msgspec.json.Decoder(dict[str, Raw])


def read_params(given: Raw, kind: type[_P]) -> _P:
    """The parameters of a call. Raises `Fault` (-32602), which names the member and what it takes (J5)."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    members = _read_members(given)
    if kind.__struct_config__.forbid_unknown_fields and not members.keys() <= fields.keys():
        taken = f"none but {', '.join(fields)}" if fields else "none"
        raise Fault(INVALID_PARAMS, f"params has a member that this method does not take; it takes {taken}")
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name in members:
            values[field.name] = _value(name, members[name], field.type)
        elif field.required:
            raise Fault(INVALID_PARAMS, f"{name} is missing; it must be {_described(field.type)}")
    return kind(**values)


def _read_members(given: Raw) -> dict[str, Raw]:
    text = bytes(given)
    if not text or (text.startswith(b"[") and not msgspec.json.decode(text)):
        return {}
    try:
        return _members.decode(text)
    except msgspec.MsgspecError:
        raise Fault(INVALID_PARAMS, "params must be an object, its members by name") from None


def _value(name: str, given: Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(given, type=kind)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise Fault(INVALID_PARAMS, f"{name} must be {_described(kind)}") from None


def _described(kind: Any) -> str:
    """What a member takes, in the words that its schema has too."""
    described: str = next(word.description for word in kind.__metadata__ if word.description)
    return described
