"""Read structs member by member, so that an error names the member on the wire and its rule (O3)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Raw, UnsetType

from codex_adapter.protocols.operations.json_text import HALF_OF_A_PAIR
from codex_adapter.protocols.operations.text_pieces import Text

__all__ = ["FieldError", "read_struct"]

_S = TypeVar("_S", bound=msgspec.Struct)


class FieldError(ValueError):
    """A member is missing or breaks its rule; the message is ours and quotes no value (X3)."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")
        self.field = field


def read_struct(kind: type[_S], given: Mapping[str, Raw], prefix: str = "") -> _S:
    """Return a struct of the members of an object; members without a field are ignored. Raises FieldError.

    `prefix` precedes the names in errors.
    """
    values: dict[str, Any] = {}
    for field in _fields(kind):
        if field.on_wire in given:
            values[field.name] = _value(f"{prefix}{field.on_wire}", given[field.on_wire], field.kind)
        elif field.required:
            raise FieldError(f"{prefix}{field.on_wire}", f"is missing; it must be {_described(field.kind)}")
    return kind(**values)


class _Field(NamedTuple):
    name: str
    on_wire: str
    kind: Any
    required: bool


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[_Field, ...]:
    """Return the fields, which msgspec would derive from the annotations at each call."""
    return tuple(
        _Field(field.name, field.encode_name, _without_unset(field.type), field.required)
        for field in msgspec.structs.fields(kind)
    )


def _value(name: str, given: Raw, kind: Any) -> Any:
    bare = get_args(kind)[0]
    try:
        if bare is Text:
            return _text(given)
        if bare is int:
            return msgspec.convert(_number(given), kind)
        return _decoder(kind).decode(given)
    except (msgspec.ValidationError, RecursionError):
        raise FieldError(name, f"must be {_described(kind)}") from None
    except msgspec.DecodeError:  # the text is JSON, so this is the only way in which it can fail to be Unicode
        raise FieldError(name, HALF_OF_A_PAIR) from None
    except UnicodeDecodeError:
        raise FieldError(name, "must be UTF-8") from None


def _text(given: Raw) -> Text:
    if bytes(memoryview(given)[:1]) != b'"':
        raise msgspec.ValidationError
    return Text.of_json(given)


def _number(given: Raw) -> int | float:
    """Return a number; 1000.0 and 1e3 are whole numbers to JSON Schema."""
    number = msgspec.json.decode(given, type=int | float)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _described(kind: Any) -> str:
    """Return what a member accepts, as its schema describes it."""
    described: str = next(word.description for word in kind.__metadata__ if word.description)
    return described


def _without_unset(kind: Any) -> Any:
    return get_args(kind)[0] if UnsetType in get_args(kind) else kind


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
