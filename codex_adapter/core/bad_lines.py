"""Describe the bad lines of an agent with a closed list of reasons (T5, X2, X3)."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Final, final

import msgspec

from codex_adapter.core.error_texts import normalize_error_text, parse_error_text
from codex_adapter.core.framing import OversizeLine

__all__ = [
    "BadLine",
    "field_reason",
    "is_out_of_range",
    "malformed",
    "misshapen",
    "not_an_object",
    "out_of_range",
    "oversize",
]


@final
class BadLine(msgspec.Struct, frozen=True, gc=False):
    """A line that is not one of the agent's. `message` is the canonical text, which quotes nothing of the line.

    `oversize` is whether the line was skipped unread, because it is over the limit.

    This is a value and not an exception: the context of an exception would have the decoder's error, which quotes the
    line (X2, X3).
    """

    message: str
    oversize: bool = False


def oversize(agent_kind: str, line: OversizeLine) -> BadLine:
    """Return the bad line for a line over the limit (L2)."""
    return BadLine(parse_error_text(agent_kind, f"line longer than {line.limit} bytes", line.length), oversize=True)


def not_an_object(agent_kind: str, line: bytes | bytearray) -> BadLine:
    """Return the bad line for JSON that is not an object."""
    return BadLine(parse_error_text(agent_kind, "not an object", len(line)))


def malformed(agent_kind: str, line: bytes | bytearray, error: Exception) -> BadLine:
    """Return the bad line for a line that the JSON decoder refused with `error`."""
    if isinstance(error, RecursionError):
        reason = "nesting too deep"
    elif isinstance(error, UnicodeDecodeError):
        reason = "invalid UTF-8"
    else:
        found = _BYTE.search(str(error))
        reason = f"malformed JSON at byte {found[1] if found else len(line)}"
    return BadLine(parse_error_text(agent_kind, reason, len(line)))


def out_of_range(agent_kind: str, line: bytes | bytearray) -> BadLine:
    """Return the bad line for an object with a number that is too large."""
    return BadLine(parse_error_text(agent_kind, "number out of range", len(line)))


def misshapen(agent_kind: str, line: bytes | bytearray, message: str, fields: AbstractSet[str]) -> BadLine:
    """Return the bad line for an object whose fields are wrong; `message` and `fields` are those of `field_reason`."""
    return BadLine(normalize_error_text(agent_kind, field_reason(message, fields), len(line)))


def is_out_of_range(message: str) -> bool:
    """Return whether the message of a `ValidationError` is about a number that is too large."""
    return _OUT_OF_RANGE.match(message) is not None


def field_reason(message: str, fields: AbstractSet[str]) -> str:
    """Return a reason with the wrong field, if it is one of `fields`, the names of the agent's schema.

    `message` is the text of the `ValidationError`. No other word of it is used (X3).
    """
    missing = _MISSING.match(message)
    if missing is not None and missing[1] in fields:
        return f"missing field {missing[1]}"
    wrong = _PATH.search(message)
    if wrong is not None and wrong[1] in fields:
        return f"wrong type for field {wrong[1]}"
    return "wrong shape"


_BYTE: Final = re.compile(r"\(byte ([0-9]{1,20})\)\Z")
_OUT_OF_RANGE: Final = re.compile(r"(?:Number|Integer value) out of range")
_MISSING: Final = re.compile(r"\AObject missing required field `([a-z_]+)`")
_PATH: Final = re.compile(r" - at `\$[^`]*?([a-z_]+)(?:\[[^`]*)?`\Z")
