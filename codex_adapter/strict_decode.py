"""Decode JSON with errors that name the key and its rule, without values or library texts (A1, J5, O3, X3, Z1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Raw, UnsetType

__all__ = ["FieldError", "in_line", "problem", "read_struct", "shown"]

_S = TypeVar("_S", bound=msgspec.Struct)
_LONGEST_SHOWN: Final = 200
_PLACE: Final = re.compile(r" - at (?P<name>`key` in )?`\$\.?(?P<key>[^`]*)`\Z")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*?)`(?: - at |$)", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(.*?)`", re.DOTALL)
_LINE: Final = re.compile(r"\(at line (\d+)")


class FieldError(ValueError):
    """A member is missing or breaks its rule. `field` is its name on the wire. The message has no value (X3)."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")
        self.field: Final = field
        self.rule: Final = rule


def problem(error: msgspec.ValidationError) -> str:
    """Return the error of a document, with the path of the key and without its value, which may be a secret."""
    text = str(error)
    place = _PLACE.search(text)
    key = place["key"] if place else ""
    if unknown := _UNKNOWN.match(text):
        return f"the key '{shown(_join_key(key, unknown[1]))}' is unknown; remove it"
    if missing := _MISSING.match(text):
        return f"the key '{shown(_join_key(key, missing[1]))}' is missing"
    if place and place["name"]:
        return f"a key in '{shown(key)}' is not an allowed name"
    return f"the key '{shown(key)}' has a wrong type or value" if key else "it is not a table"


def in_line(error: Exception) -> str:
    """Return " in line N" for an error of tomllib with a line number. The rest of its message may quote the file."""
    line = _LINE.search(str(error))
    return f" in line {line[1]}" if line else ""


def shown(text: str) -> str:
    """Return a name or a key fit for a sentence: printable, and at most 200 characters."""
    begin = text[:_LONGEST_SHOWN]
    plain = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in begin)
    return plain if len(text) <= _LONGEST_SHOWN else f"{plain}…"


def read_struct(
    kind: type[_S],
    members: Mapping[str, Raw],
    prefix: str = "",
    decode: Callable[[str, Raw, Any], Any] | None = None,
) -> _S:
    """Return a struct from the members of an object, by their names on the wire. Ignore members without a field.

    The type of every field is `Annotated` with a description, which is the rule in its error. `prefix` comes before the
    names in errors. `decode` replaces msgspec's decoding; it takes the name, the JSON and the type. Raise `FieldError`.
    """
    values: dict[str, Any] = {}
    for field in _fields(kind):
        name = f"{prefix}{field.on_wire}"
        if field.on_wire in members:
            try:
                values[field.name] = (decode or _decode)(name, members[field.on_wire], field.kind)
            except FieldError:
                raise
            except (msgspec.MsgspecError, RecursionError, ValueError):
                raise FieldError(name, f"must be {field.rule}") from None
        elif field.required:
            raise FieldError(name, f"is missing; it must be {field.rule}")
    return kind(**values)


class _Field(NamedTuple):
    name: str
    on_wire: str
    kind: Any
    required: bool
    rule: str


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[_Field, ...]:
    """Return the fields of a struct. They are cached, because msgspec parses the annotations at each call."""
    fields = ((field, _without_unset(field.type)) for field in msgspec.structs.fields(kind))
    return tuple(_Field(field.name, field.encode_name, bare, field.required, _rule(bare)) for field, bare in fields)


def _decode(_name: str, encoded: Raw, kind: Any) -> Any:
    return msgspec.json.decode(encoded, type=kind)


def _rule(kind: Any) -> str:
    """Return the rule of a member, as its schema describes it."""
    described: str = next(word.description for word in kind.__metadata__ if word.description)
    return described


def _without_unset(kind: Any) -> Any:
    return get_args(kind)[0] if UnsetType in get_args(kind) else kind


def _join_key(key: str, last: str) -> str:
    return ".".join(filter(None, (key, last)))
