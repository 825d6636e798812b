"""Parse lines of Claude Code into structs, and describe bad lines with fixed reasons (T2, T4, T5, L4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from codex_adapter.agents.claude.kind import KIND
from codex_adapter.agents.claude.stream import lines as cl
from codex_adapter.core import framing
from codex_adapter.core.bad_lines import (
    BadLine,
    is_out_of_range,
    malformed,
    misshapen,
    not_an_object,
    out_of_range,
    oversize,
)
from codex_adapter.core.error_texts import normalize_error_text

__all__ = ["parse_lines"]


def parse_lines(lines: Iterable[framing.Line]) -> list[cl.Line | BadLine]:
    """Return the struct or the `BadLine` of each line. Skip lines of white space (L1, L4)."""
    parsed: list[cl.Line | BadLine] = []
    for line in lines:
        if isinstance(line, framing.OversizeLine):
            parsed.append(oversize(KIND, line))
            continue
        try:
            parsed.append(_decode(line))
        except Exception:  # noqa: BLE001 - any error of the decoder means one bad line
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
        return malformed(KIND, line, error)
    try:
        fields = _decode_names(line)
    except msgspec.ValidationError:
        return not_an_object(KIND, line)
    except Exception as error:  # noqa: BLE001 - as in `parse_lines`
        return malformed(KIND, line, error)
    type_ = _text(fields.get("type"))
    if type_ in _TAGS:
        if is_out_of_range(wrong):
            return out_of_range(KIND, line)
        return misshapen(KIND, line, wrong, _FIELDS)
    if type_ is None:
        return BadLine(normalize_error_text(KIND, "missing field type", len(line)))
    return cl.Unknown(type_, _text(fields.get("subtype")))


# The CLI is written in JavaScript, where half of a surrogate pair is a valid escape. A model can produce one.
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
    except Exception:  # noqa: BLE001 - a value that cannot be decoded is not a name
        return None
    return value if isinstance(value, str) else None


_FIELDS: Final = frozenset(
    {"type"}.union(
        *(getattr(member, "__struct_fields__", ()) for member in vars(cl).values() if isinstance(member, type))
    )
)
