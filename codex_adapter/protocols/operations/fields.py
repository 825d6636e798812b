"""Decode a member of an operation or a message, with an error in our words (O3)."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import msgspec
from msgspec import Raw

from codex_adapter.protocols.operations.json_text import HALF_OF_A_PAIR
from codex_adapter.protocols.operations.text_pieces import Text
from codex_adapter.strict_decode import FieldError

__all__ = ["decode_field"]


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
    except msgspec.DecodeError:  # the text is JSON, and this is all that there can be in it which is no Unicode
        raise FieldError(name, HALF_OF_A_PAIR) from None
    except UnicodeDecodeError:
        raise FieldError(name, "must be UTF-8") from None


def _text(given: Raw) -> Text:
    if bytes(memoryview(given)[:1]) != b'"':
        raise msgspec.ValidationError
    return Text.of_json(given)


def _number(given: Raw) -> int | float:
    """1000.0 and 1e3 are whole numbers to JSON Schema."""
    number = msgspec.json.decode(given, type=int | float)
    return int(number) if isinstance(number, float) and number.is_integer() else number


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
