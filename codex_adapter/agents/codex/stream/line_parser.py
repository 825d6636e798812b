"""Parse lines into thread events, and describe bad lines with fixed reasons (T1, T2, T4, T5, L4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from codex_adapter.agents.codex.kind import KIND
from codex_adapter.agents.codex.stream import lines as thread_events
from codex_adapter.agents.codex.stream.legacy import modernize
from codex_adapter.agents.codex.stream.lines import DecodedEvent, ThreadEvent, Unknown
from codex_adapter.core.bad_lines import (
    BadLine,
    is_out_of_range,
    malformed,
    misshapen,
    not_an_object,
    out_of_range,
    oversize,
)
from codex_adapter.core.framing import Line, OversizeLine, content_of

__all__ = ["parse_lines"]


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
                parsed.append(oversize(KIND, line))
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
        return malformed(KIND, line, error)
    return _read_older(line, wrong)


def _read_older(line: bytes | bytearray, wrong: str) -> ThreadEvent | BadLine:
    """Parse a line of an older form. `wrong` is the decoder's error for the unchanged line. (T2)"""
    try:
        modern = modernize(line)
    except msgspec.ValidationError:
        return not_an_object(KIND, line)
    except Exception as plain_error:  # noqa: BLE001 - as in `parse_lines`
        return malformed(KIND, line, plain_error)
    if modern is None:
        return misshapen(KIND, line, wrong, _FIELDS)
    if isinstance(modern, Unknown):
        return modern
    try:
        return _read_today(modern)
    except msgspec.ValidationError as shape_error:
        if is_out_of_range(str(shape_error)):
            return out_of_range(KIND, line)
        return misshapen(KIND, line, str(shape_error), _FIELDS)
    except Exception as modern_error:  # noqa: BLE001 - as in `parse_lines`
        return malformed(KIND, line, modern_error)


_read_today: Callable[[bytes | bytearray], ThreadEvent] = msgspec.json.Decoder(DecodedEvent).decode


def _own_field_names() -> frozenset[str]:
    structs = [getattr(thread_events, name) for name in thread_events.__all__]
    names: set[str] = {"type"}
    for struct in structs:
        names.update(getattr(struct, "__struct_fields__", ()))
    return frozenset(names)


_FIELDS = _own_field_names()
