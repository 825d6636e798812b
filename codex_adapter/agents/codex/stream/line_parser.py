"""Parse lines into thread events, and describe bad lines with fixed reasons (T1, T2, T4, T5, L4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import final

import msgspec

from codex_adapter.agents.codex.kind import KIND
from codex_adapter.agents.codex.stream import lines as thread_events
from codex_adapter.agents.codex.stream.legacy import modernize
from codex_adapter.agents.codex.stream.lines import DecodedEvent, ThreadEvent, Unknown
from codex_adapter.core.error_texts import normalize_error_text, parse_error_text
from codex_adapter.core.framing import Line, OversizeLine, content_of
from codex_adapter.events import PlanItem

__all__ = ["BadLine", "parse_lines"]


@final
class BadLine(msgspec.Struct, frozen=True, gc=False):
    """A line that is not a thread event. `message` is the canonical text, which quotes nothing of the line. (X2, X3)

    This is a value and not an exception: the context of an exception would have the decoder's error, which quotes the
    line.
    """

    message: str


def parse_lines(lines: Iterable[Line]) -> list[ThreadEvent | BadLine]:
    """Return the thread event or the `BadLine` of each line. Skip lines of white space. (L4, L1)

    Parse each line separately. `Context` sets the ids that a line does not have. (T3)
    """
    parsed: list[ThreadEvent | BadLine] = []
    for line in lines:
        try:
            parsed.append(_read_today(line))  # type: ignore[arg-type]  # an OversizeLine raises, too
        except Exception:  # noqa: BLE001 - any error of the decoder means one bad line
            if isinstance(line, OversizeLine):
                reason = f"line longer than {line.limit} bytes"
                parsed.append(BadLine(parse_error_text(KIND, reason, line.length)))
            elif content := content_of(line):
                parsed.append(_look_again(content))
    return parsed


def _look_again(line: bytes | bytearray) -> ThreadEvent | BadLine:
    """Parse a refused line again, without its white space, and as an older form."""
    try:
        return _read_today(line)
    except msgspec.ValidationError as error:
        # A reference to the error would keep this frame and the line alive.
        wrong = str(error)
    except Exception as error:  # noqa: BLE001 - as in `parse_lines`
        return _parse_error(line, error)
    return _read_older(line, wrong)


def _read_older(line: bytes | bytearray, wrong: str) -> ThreadEvent | BadLine:
    """Parse a line of an older form. `wrong` is the decoder's error for the unchanged line. (T2)"""
    try:
        modern = modernize(line)
    except msgspec.ValidationError:
        return BadLine(parse_error_text(KIND, "not an object", len(line)))
    except Exception as plain_error:  # noqa: BLE001 - as in `parse_lines`
        return _parse_error(line, plain_error)
    if modern is None:
        return BadLine(normalize_error_text(KIND, _field_reason(wrong), len(line)))
    if isinstance(modern, Unknown):
        return modern
    try:
        return _read_today(modern)
    except msgspec.ValidationError as shape_error:
        if _OUT_OF_RANGE.match(str(shape_error)):
            return _parse_error(line, shape_error)
        return BadLine(normalize_error_text(KIND, _field_reason(str(shape_error)), len(line)))
    except Exception as modern_error:  # noqa: BLE001 - as in `parse_lines`
        return _parse_error(line, modern_error)


_read_today: Callable[[bytes | bytearray], ThreadEvent] = msgspec.json.Decoder(DecodedEvent).decode


def _parse_error(line: bytes | bytearray, error: Exception) -> BadLine:
    if isinstance(error, RecursionError):
        reason = "nesting too deep"
    elif isinstance(error, UnicodeDecodeError):
        reason = "invalid UTF-8"
    elif isinstance(error, msgspec.ValidationError):
        reason = "number out of range"
    else:
        found = _BYTE.search(str(error))
        reason = f"malformed JSON at byte {found[1] if found else len(line)}"
    return BadLine(parse_error_text(KIND, reason, len(line)))


_BYTE = re.compile(r"\(byte ([0-9]{1,20})\)\Z")
_OUT_OF_RANGE = re.compile(r"(?:Number|Integer value) out of range")
_MISSING = re.compile(r"\AObject missing required field `([a-z_]+)`")
_PATH = re.compile(r" - at `\$[^`]*?([a-z_]+)(?:\[[^`]*)?`\Z")


def _own_field_names() -> frozenset[str]:
    structs = [PlanItem, *(getattr(thread_events, name) for name in thread_events.__all__)]
    names: set[str] = {"type"}
    for struct in structs:
        names.update(getattr(struct, "__struct_fields__", ()))
    return frozenset(names)


_FIELDS = _own_field_names()


def _field_reason(message: str) -> str:
    """Return a reason with the wrong field of the schema, without the library's text (X3)."""
    missing = _MISSING.match(message)
    if missing is not None and missing[1] in _FIELDS:
        return f"missing field {missing[1]}"
    wrong = _PATH.search(message)
    if wrong is not None and wrong[1] in _FIELDS:
        return f"wrong type for field {wrong[1]}"
    return "wrong shape"
