"""Parse lines of JSON objects into an agent's structs, and describe bad lines with fixed reasons (T2, T4, T5, L4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar, get_args

import msgspec

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
from codex_adapter.core.framing import Line, OversizeLine, content_of

__all__ = ["LineParser", "text_of"]

_T = TypeVar("_T")


class LineParser(Generic[_T]):
    """A parser of one agent's lines.

    `known` is the union of the agent's structs, whose tag is the field `type`. `unknown` makes the struct of a line of
    another type from that type and its undecoded fields. `fields` are the names that an error may show (X3).
    """

    def __init__(
        self,
        agent_kind: str,
        known: Any,
        unknown: Callable[[str, Mapping[str, msgspec.Raw]], _T],
        fields: frozenset[str],
    ) -> None:
        self._kind = agent_kind
        self._decode: Callable[[bytes | bytearray], _T] = msgspec.json.Decoder(known).decode
        self._tags = frozenset(member.__struct_config__.tag for member in get_args(known))
        self._unknown = unknown
        self._fields = fields

    def parse(self, lines: Iterable[Line]) -> list[_T | BadLine]:
        """Return the struct or the `BadLine` of each line. Skip lines of white space (L1, L4)."""
        parsed: list[_T | BadLine] = []
        for line in lines:
            if isinstance(line, OversizeLine):
                parsed.append(oversize(self._kind, line))
                continue
            try:
                parsed.append(self._decode(line))
            except Exception:  # noqa: BLE001 - any error of the decoder means one bad line
                if content := content_of(line):
                    parsed.append(self._look_again(content))
        return parsed

    def _look_again(self, line: bytes | bytearray) -> _T | BadLine:
        """Return an unknown line by its names, a bad line otherwise."""
        line = _ESCAPE.sub(_without_lone_surrogate, line)
        try:
            return self._decode(line)
        except msgspec.ValidationError as error:
            wrong = str(error)
        except Exception as error:  # noqa: BLE001 - as in `parse`
            return malformed(self._kind, line, error)
        try:
            fields = _decode_names(line)
        except msgspec.ValidationError:
            return not_an_object(self._kind, line)
        except Exception as error:  # noqa: BLE001 - as in `parse`
            return malformed(self._kind, line, error)
        type_ = text_of(fields.get("type"))
        if type_ in self._tags:
            if is_out_of_range(wrong):
                return out_of_range(self._kind, line)
            return misshapen(self._kind, line, wrong, self._fields)
        if type_ is None:
            return BadLine(normalize_error_text(self._kind, "missing field type", len(line)))
        return self._unknown(type_, fields)


def text_of(raw: msgspec.Raw | None) -> str | None:
    """Return an undecoded value if it is a text, else None."""
    if raw is None:
        return None
    try:
        value: Any = msgspec.json.decode(raw)
    except Exception:  # noqa: BLE001 - a value that cannot be decoded is not a text
        return None
    return value if isinstance(value, str) else None


_decode_names = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode

# In JavaScript, half of a surrogate pair is a valid escape. A model can produce one.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)", re.DOTALL
)


def _without_lone_surrogate(escape: re.Match[bytes]) -> bytes:
    text = escape[0]
    return rb"\ufffd" if len(text) == len(rb"\ud800") and text[1:3].lower() == b"ud" else text
