"""Split JSON into members of objects and elements of arrays, without decoding their values (O1, O3).

Only the requested members or elements become objects.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final, NoReturn, get_args

import msgspec
from msgspec import Raw

from codex_adapter.protocols.operations.text_pieces import Text
from codex_adapter.strict_decode import FieldError

__all__ = ["HALF_OF_A_PAIR", "NotJSON", "decode_field", "elements", "members", "string", "to_json"]

HALF_OF_A_PAIR: Final = "has half of a surrogate pair. Write the character itself, or the escapes of both halves"
_MOST_TO_REPAIR: Final = 1024 * 1024
"""The limit, in bytes, of a text that is decoded because of half a surrogate pair: its objects need much memory."""
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_JSON: Final = "must be JSON in UTF-8"
_NESTED: Final = "must be nested less deeply"
_ABSENT: Final = Raw(b"")


class NotJSON(ValueError):
    """The text is not JSON. The message has the rule, and can follow a name."""


def members(text: bytes | bytearray | Raw, names: tuple[str, ...]) -> dict[str, Raw] | None:
    """Return the last member of each name in an object; None for other JSON. Raises NotJSON.

    The members are views of the text, unless the text has half of a surrogate pair.
    """
    parts = _parts(_object_reader(names), text)
    if isinstance(parts, _DecodedValue):
        value = parts.value
        return {name: Raw(to_json(value[name])) for name in names if name in value} if isinstance(value, dict) else None
    return (
        None if parts is None else {name: part for name, part in zip(names, parts, strict=True) if part is not _ABSENT}
    )


def elements(text: bytes | bytearray | Raw, most: int) -> list[Raw] | None:
    """Return the elements of an array of at most `most`; None for other JSON. Raises NotJSON."""
    parts = _parts(_array_reader(most), text)
    if isinstance(parts, _DecodedValue):
        values = parts.value
        return [Raw(to_json(value)) for value in values] if isinstance(values, list) and len(values) <= most else None
    return None if parts is None else [part for part in parts if part is not _ABSENT]


def string(text: bytes | bytearray | Raw) -> str | None:
    """Return a JSON string decoded; None for other JSON, and for a string that is not Unicode."""
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def decode_field(name: str, text: Raw, kind: Any) -> Any:
    """Return the value of a member, for `read_struct`. Raises `FieldError`, and ValidationError for a broken rule."""
    bare = get_args(kind)[0]
    try:
        if bare is Text:
            return _text(text)
        if bare is int:
            return msgspec.convert(_number(text), kind)
        return _decoder(kind).decode(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:  # in valid JSON, the only cause is half a surrogate pair
        raise FieldError(name, HALF_OF_A_PAIR) from None
    except UnicodeDecodeError:
        raise FieldError(name, "must be UTF-8") from None


def to_json(value: object) -> bytes:
    """Encode a decoded value as JSON. Raises NotJSON if that is not possible."""
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError):
        raise NotJSON("must have only objects, arrays, strings, numbers, true, false and null") from None
    except RecursionError:
        raise NotJSON(_NESTED) from None


class _DecodedValue:
    """A JSON value that the standard library has decoded, because `msgspec` refuses it."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _parts(
    reader: msgspec.json.Decoder[msgspec.Struct], text: bytes | bytearray | Raw
) -> tuple[Raw, ...] | _DecodedValue | None:
    try:
        return msgspec.structs.astuple(reader.decode(text))
    except msgspec.ValidationError:
        return None
    except RecursionError:
        raise NotJSON(_NESTED) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        if not _HALF.search(text):
            raise NotJSON(_NOT_JSON) from None
    if memoryview(text).nbytes > _MOST_TO_REPAIR:
        raise NotJSON(HALF_OF_A_PAIR)
    return _DecodedValue(_read(bytes(text)))


def _read(text: bytes) -> Any:
    try:
        return json.loads(text.decode(), parse_constant=_refuse_constant)
    except ValueError:
        raise NotJSON(_NOT_JSON) from None
    except RecursionError:
        raise NotJSON(_NESTED) from None


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError


@cache
def _object_reader(names: tuple[str, ...]) -> msgspec.json.Decoder[msgspec.Struct]:
    rename = {f"member_{number}": name for number, name in enumerate(names)}
    return msgspec.json.Decoder(msgspec.defstruct("_Object", [(name, Raw, _ABSENT) for name in rename], rename=rename))


@cache
def _array_reader(most: int) -> msgspec.json.Decoder[msgspec.Struct]:
    # A list would be complete in memory before its elements could be counted.
    fields = [(f"element_{number}", Raw, _ABSENT) for number in range(most)]
    return msgspec.json.Decoder(msgspec.defstruct("_Array", fields, array_like=True, forbid_unknown_fields=True))


def _text(text: Raw) -> Text:
    if bytes(memoryview(text)[:1]) != b'"':
        raise msgspec.ValidationError
    return Text.of_json(text)


def _number(text: Raw) -> int | float:
    """Return a number. In JSON Schema, 1000.0 and 1e3 are whole numbers."""
    number = msgspec.json.decode(text, type=int | float)
    return int(number) if isinstance(number, float) and number.is_integer() else number


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
