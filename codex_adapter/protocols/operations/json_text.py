"""JSON taken apart without its values being decoded: members of objects, elements of arrays (O1, O3).

However many members or elements there are, none is made but those that are asked for.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final, NoReturn

import msgspec
from msgspec import Raw

__all__ = ["HALF_OF_A_PAIR", "NotJSON", "elements", "members", "string", "to_json"]

HALF_OF_A_PAIR: Final = "has half of a surrogate pair; write the character itself, or the escapes of both halves"
_MOST_TO_REPAIR: Final = 1024 * 1024
"""Bytes of a text that is read as a whole for the sake of half of a pair in it; the objects are many times that."""
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_JSON: Final = "must be JSON in UTF-8"
_NESTED: Final = "must be nested less deeply"
_ABSENT: Final = Raw(b"")


class NotJSON(ValueError):
    """What is given is no JSON; the message says what it must be, and can follow a name."""


def members(text: bytes | bytearray | Raw, names: tuple[str, ...]) -> dict[str, Raw] | None:
    """The members of an object that have these names, the last one of each; None for any other JSON. Raises NotJSON.

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
    """The elements of an array that has at most so many; None for any other JSON. Raises NotJSON."""
    parts = _parts(_array_reader(most), text)
    if isinstance(parts, _Whole):
        given = parts.value
        return [Raw(to_json(value)) for value in given] if isinstance(given, list) and len(given) <= most else None
    return None if parts is None else [part for part in parts if part is not _ABSENT]


def string(text: bytes | bytearray | Raw) -> str | None:
    """The string that JSON is; None for any other JSON, and for a string that is no Unicode."""
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def to_json(value: object) -> bytes:
    """A decoded value as JSON again. Raises NotJSON when there is none for it."""
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError):
        raise NotJSON("must be made of what JSON has: objects, arrays, strings, numbers, true, false, null") from None
    except RecursionError:
        raise NotJSON(_NESTED) from None


class _Whole:
    """JSON that only the standard library reads."""

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
    # A list would be made of all that is there before anybody could count it.
    fields = [(f"element_{number}", Raw, _ABSENT) for number in range(most)]
    return msgspec.json.Decoder(msgspec.defstruct("_Array", fields, array_like=True, forbid_unknown_fields=True))
