"""Parse lines of Claude Code into structs, or into one of our reasons for a bad line (T2, T4, T5, L4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from codex_adapter.agents.claude.kind import KIND
from codex_adapter.agents.claude.stream import lines as cl
from codex_adapter.core import framing
from codex_adapter.core.error_texts import normalize_error_text, parse_error_text

__all__ = ["BadLine", "parse_lines"]


class BadLine(msgspec.Struct, frozen=True, gc=False):
    """A line that is not of Claude Code; `message` has nothing of the line (X2, X3)."""

    message: str


def parse_lines(lines: Iterable[framing.Line]) -> list[cl.Line | BadLine]:
    """Return the struct of each line, or what is wrong with it; skip lines of white space (L1, L4)."""
    parsed: list[cl.Line | BadLine] = []
    for line in lines:
        if isinstance(line, framing.OversizeLine):
            reason = f"line longer than {line.limit} bytes"
            parsed.append(BadLine(parse_error_text(KIND, reason, line.length)))
            continue
        try:
            parsed.append(_decode(line))
        except Exception:  # noqa: BLE001 - whatever a line does to the decoder, it is one bad line
            if content := framing.content_of(line):
                parsed.append(_look_again(content))
    return parsed


_decode: Callable[[bytes | bytearray], cl.Line] = msgspec.json.Decoder(cl.Known).decode
_decode_names = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_TAGS: Final = frozenset(member.__struct_config__.tag for member in cl.Known.__args__)


def _look_again(line: bytes | bytearray) -> cl.Line | BadLine:
    """Return an unknown line by its names, a bad line otherwise."""
    line = _ESCAPE.sub(_without_lone_surrogate, line)
    try:
        return _decode(line)
    except msgspec.ValidationError as error:
        wrong = str(error)
    except Exception as error:  # noqa: BLE001 - as in `parse_lines`
        return _parse_error(line, error)
    try:
        fields = _decode_names(line)
    except msgspec.ValidationError:
        return BadLine(parse_error_text(KIND, "not an object", len(line)))
    except Exception as error:  # noqa: BLE001 - as in `parse_lines`
        return _parse_error(line, error)
    type_ = _text(fields.get("type"))
    if type_ in _TAGS:
        if _OUT_OF_RANGE.match(wrong):
            return BadLine(parse_error_text(KIND, "number out of range", len(line)))
        return BadLine(normalize_error_text(KIND, _field_reason(wrong), len(line)))
    if type_ is None:
        return BadLine(normalize_error_text(KIND, "missing field type", len(line)))
    return cl.Unknown(type_, _text(fields.get("subtype")))


# The CLI is JavaScript: half of a surrogate pair, which a model can produce, is an escape of its own there.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)", re.DOTALL
)


def _without_lone_surrogate(escape: re.Match[bytes]) -> bytes:
    text = escape[0]
    return rb"\ufffd" if len(text) == len(rb"\ud800") and text[1:3].lower() == b"ud" else text


def _text(raw: msgspec.Raw | None) -> str | None:
    if raw is None:
        return None
    try:
        value: Any = msgspec.json.decode(raw)
    except Exception:  # noqa: BLE001 - a deep or odd value is not a name
        return None
    return value if isinstance(value, str) else None


def _parse_error(line: bytes | bytearray, error: Exception) -> BadLine:
    if isinstance(error, RecursionError):
        reason = "nesting too deep"
    elif isinstance(error, UnicodeDecodeError):
        reason = "invalid UTF-8"
    else:
        found = _BYTE.search(str(error))
        reason = f"malformed JSON at byte {found[1] if found else len(line)}"
    return BadLine(parse_error_text(KIND, reason, len(line)))


_BYTE: Final = re.compile(r"\(byte ([0-9]{1,20})\)\Z")
_OUT_OF_RANGE: Final = re.compile(r"(?:Number|Integer value) out of range")
_MISSING: Final = re.compile(r"\AObject missing required field `([a-z_]+)`")
_PATH: Final = re.compile(r" - at `\$[^`]*?([a-z_]+)(?:\[[^`]*)?`\Z")
_FIELDS: Final = frozenset(
    {"type"}.union(
        *(getattr(member, "__struct_fields__", ()) for member in vars(cl).values() if isinstance(member, type))
    )
)


def _field_reason(wrong: str) -> str:
    """Return which field of our own schema is at fault, without the library's words (X3)."""
    missing = _MISSING.match(wrong)
    if missing is not None and missing[1] in _FIELDS:
        return f"missing field {missing[1]}"
    path = _PATH.search(wrong)
    if path is not None and path[1] in _FIELDS:
        return f"wrong type for field {path[1]}"
    return "wrong shape"
