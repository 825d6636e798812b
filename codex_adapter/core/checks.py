"""Check single values: extension values, request fields and configuration fields."""

from __future__ import annotations

import math
import unicodedata
from typing import Any, NoReturn

import msgspec

from codex_adapter.errors import InvalidRequestError

__all__ = [
    "is_encodable",
    "is_json",
    "is_path",
    "is_plain_text",
    "is_seconds",
    "is_short_text",
    "is_unquoted",
    "printable",
    "refuse",
    "toml_string",
]

_MAX_SHOWN_CHARACTERS = 128


def refuse(field: str, allowed: str) -> NoReturn:
    """Raise `InvalidRequestError` with the field and what it allows, never with the value (Q3)."""
    raise InvalidRequestError(f"{field} must be {allowed}")


def printable(name: str) -> str:
    """Return `name` fit for a log: cut to 128 characters, each unprintable character replaced by `?` (Q2)."""
    return "".join(c if c.isprintable() else "?" for c in name[:_MAX_SHOWN_CHARACTERS])


def is_encodable(value: str) -> bool:
    """Return whether `value` has no lone surrogates and so can be encoded as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_path(value: Any) -> bool:
    """Return whether `value` is a string that can name a file: not empty, no NUL, no lone surrogates."""
    return isinstance(value, str) and bool(value) and "\0" not in value and is_encodable(value)


def is_plain_text(value: Any) -> bool:
    """Return whether `value` is a non-empty string that UTF-8 can encode, without control characters."""
    return (
        isinstance(value, str)
        and bool(value)
        and not any(unicodedata.category(character) in {"Cc", "Cs"} for character in value)
    )


def is_short_text(value: Any, limit: int) -> bool:
    """Return whether `value` is plain text of at most `limit` bytes of UTF-8."""
    return isinstance(value, str) and len(value) <= limit and is_plain_text(value) and len(value.encode()) <= limit


def is_unquoted(path: str) -> bool:
    """Return whether a path needs no quoting in the shell text that the CLI builds from the paths below its home."""
    return not any(character in path for character in "$`\"'\n")


def is_seconds(value: Any) -> bool:
    """Return whether `value` is a finite number, zero or more. A bool does not count as a number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value) and value >= 0
    except OverflowError:
        return False


def is_json(value: Any) -> bool:
    """Return whether `value` survives JSON unchanged: no NaN, no bytes, string keys only, no lone surrogates."""
    try:
        return bool(msgspec.json.decode(msgspec.json.encode(value)) == value)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return False


def toml_string(text: str) -> str:
    """Return the text as a TOML string. A byte that is not UTF-8 becomes a replacement character, as in the CLI."""
    readable = text.encode(errors="surrogateescape").decode(errors="replace")
    return (
        '"'
        + "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in readable)
        + '"'
    )
