"""Read the parameters of a call from JSON: what does not fit is named, never quoted (J5)."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Raw

from codex_adapter.daemon.jsonrpc import INVALID_PARAMS, Fault
from codex_adapter.strict_decode import FieldError, read_struct

__all__ = ["read_params"]

_P = TypeVar("_P", bound=msgspec.Struct)
_members = msgspec.json.Decoder(dict[str, Raw])


def read_params(given: Raw, kind: type[_P]) -> _P:
    """Return the parameters of a call. Raise `Fault` (-32602), which names the member and what it takes (J5)."""
    members = _read_members(given)
    names = kind.__struct_encode_fields__
    if kind.__struct_config__.forbid_unknown_fields and not members.keys() <= {*names}:
        taken = f"none but {', '.join(names)}" if names else "none"
        raise Fault(INVALID_PARAMS, f"params has a member that this method does not take; it takes {taken}")
    try:
        return read_struct(kind, members)
    except FieldError as error:
        raise Fault(INVALID_PARAMS, f"{error.field} {error.rule}") from None


def _read_members(given: Raw) -> dict[str, Raw]:
    text = bytes(given)
    if not text or (text.startswith(b"[") and not msgspec.json.decode(text)):
        return {}
    try:
        return _members.decode(text)
    except msgspec.MsgspecError:
        raise Fault(INVALID_PARAMS, "params must be an object, its members by name") from None
