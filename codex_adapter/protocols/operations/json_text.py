"""Split JSON without decoding its values: members of objects, elements of arrays (O1, O3).

However many members or elements there are, only the requested ones become objects.
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

HALF_OF_A_PAIR: Final = "has half of a surrogate pair; write the character itself, or the escapes of both halves"
_MOST_TO_REPAIR: Final = 1024 * 1024
"""The limit, in bytes, of a text that is decoded because of half a surrogate pair; its objects take much more."""
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_JSON: Final = "must be JSON in UTF-8"
_NESTED: Final = "must be nested less deeply"
_ABSENT: Final = Raw(b"")


class NotJSON(ValueError):
    """The text is not JSON; the message says what it must be, and can follow a name."""


def members(text: bytes | bytearray | Raw, names: tuple[str, ...]) -> dict[str, Raw] | None:
    """Return the members of an object with these names, the last one of each; None for other JSON. Raises NotJSON.

    They are views of the text, unless it has half of a surrogate pair somewhere.
    """
    parts = _parts(_object_reader(names), text)
    if isinstance(parts, _Whole):
        given = parts.value
        return {name: Raw(to_json(given[name])) for name in names if name in given} if isinstance(given, dict) else None
    return (
        None if parts is None else {name: part for name, part in zip(names, parts, strict=True) if part is not _ABSENT}
    )


def elements(text: bytes | bytearray | Raw, most: int) -> list[Raw] | None:
    """Return the elements of an array of at most `most`; None for other JSON. Raises NotJSON."""
    parts = _parts(_array_reader(most), text)
    if isinstance(parts, _Whole):
        given = parts.value
        return [Raw(to_json(value)) for value in given] if isinstance(given, list) and len(given) <= most else None
    return None if parts is None else [part for part in parts if part is not _ABSENT]


def string(text: bytes | bytearray | Raw) -> str | None:
    """Return a JSON string decoded; None for other JSON, and for a string that is not Unicode."""
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def decode_field(name: str, given: Raw, kind: Any) -> Any:
    """Return the value of a member, for `read_struct`. Raise `FieldError`, and ValidationError for a broken rule."""
    bare = get_args(kind)[0]
    try:
        if bare is Text:
            return _text(given)
        if bare is int:
            return msgspec.convert(_number(given), kind)
        return _decoder(kind).decode(given)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:  # the text is JSON, so this is the only way in which it can fail to be Unicode
        raise FieldError(name, HALF_OF_A_PAIR) from None
    except UnicodeDecodeError:
        raise FieldError(name, "must be UTF-8") from None


def to_json(value: object) -> bytes:
    """Encode a decoded value as JSON. Raises NotJSON if that is not possible."""
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError):
        raise NotJSON("must be made of what JSON has: objects, arrays, strings, numbers, true, false, null") from None
    except RecursionError:
        raise NotJSON(_NESTED) from None


class _Whole:
    """A value of JSON that only the standard library decodes."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _parts(
    reader: msgspec.json.Decoder[msgspec.Struct], text: bytes | bytearray | Raw
) -> tuple[Raw, ...] | _Whole | None:
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
    return _Whole(_read(bytes(text)))


def _read(text: bytes) -> Any:
    try:
        return json.loads(text.decode(), parse_constant=_refused)
    except ValueError:
        raise NotJSON(_NOT_JSON) from None
    except RecursionError:
        raise NotJSON(_NESTED) from None


def _refused(_name: str) -> NoReturn:
    raise ValueError


@cache
def _object_reader(names: tuple[str, ...]) -> msgspec.json.Decoder[msgspec.Struct]:
    rename = {f"member_{number}": name for number, name in enumerate(names)}
    return msgspec.json.Decoder(msgspec.defstruct("_Object", [(name, Raw, _ABSENT) for name in rename], rename=rename))


@cache
def _array_reader(most: int) -> msgspec.json.Decoder[msgspec.Struct]:
    # A list would be complete before its elements could be counted.
    fields = [(f"element_{number}", Raw, _ABSENT) for number in range(most)]
    return msgspec.json.Decoder(msgspec.defstruct("_Array", fields, array_like=True, forbid_unknown_fields=True))


def _text(given: Raw) -> Text:
    if bytes(memoryview(given)[:1]) != b'"':
        raise msgspec.ValidationError
    return Text.of_json(given)


def _number(given: Raw) -> int | float:
    """Return a number; 1000.0 and 1e3 are whole numbers to JSON Schema."""
    number = msgspec.json.decode(given, type=int | float)
    return int(number) if isinstance(number, float) and number.is_integer() else number


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
