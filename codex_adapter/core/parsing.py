"""Line -> thread event, with the thread and turn it belongs to; a bad line -> one of our reasons (T1 to T5, L4)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import final

import msgspec

from codex_adapter.core import thread_events
from codex_adapter.core.framing import Line, OversizeLine
from codex_adapter.core.legacy import modernize
from codex_adapter.core.redaction import normalize_error_text, parse_error_text
from codex_adapter.core.thread_events import (
    DecodedEvent,
    ThreadEvent,
    ThreadStarted,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
    Unknown,
)

__all__ = ["BadLine", "LineParser", "usable_id"]

_LONGEST_ID = 1024


def usable_id(thread_id: str) -> bool:
    """Whether a thread id is one to remember: neither blank nor over 1024 bytes (M5)."""
    return bool(thread_id.strip()) and len(thread_id.encode()) <= _LONGEST_ID


@final
class BadLine(msgspec.Struct, frozen=True, gc=False):
    """A line that is no thread event; `message` is the canonical text, which holds nothing of the line (X2, X3).

    A value, not an exception: an exception's context would carry the decoder's error, and that one quotes the line.
    """

    message: str


class LineParser:
    """Decodes lines and keeps the context that they leave out (T3).

    `thread_id` and `turn_id` are those in force after the last line. An instance serves one run.
    """

    def __init__(self, limit: int) -> None:
        self.thread_id: str | None = None
        self.turn_id: str | None = None
        self._turns = 0
        self._limit = limit

    def parse(self, lines: Iterable[Line]) -> list[ThreadEvent | BadLine]:
        """The thread event of each line, its ids filled in, or what is wrong with the line (L4)."""
        decode = _DECODER.decode
        parsed: list[ThreadEvent | BadLine] = []
        for line in lines:
            try:
                event: ThreadEvent = decode(line)  # type: ignore[arg-type]  # an OversizeLine is refused like others
            except Exception as error:  # noqa: BLE001 - whatever a line does to the decoder, it is one bad line
                other = self._second_look(line, error)
                if isinstance(other, BadLine):
                    parsed.append(other)
                    continue
                event = other
            if event.thread_id is event.turn_id is event.conversation_id is None and type(event) not in _TURNS:
                event.thread_id = self.thread_id
                event.turn_id = self.turn_id
            else:
                self._place(event)
            parsed.append(event)
        return parsed

    def _place(self, event: ThreadEvent) -> None:
        """Fill in the ids of a line that has some of its own, or that changes those in force (T3)."""
        if event.thread_id is None:
            event.thread_id = event.conversation_id or self.thread_id
        if event.thread_id is not None and event.thread_id != self.thread_id and usable_id(event.thread_id):
            self.thread_id = event.thread_id
            self.turn_id = None
        if isinstance(event, ThreadStarted):
            self.turn_id = None
            return
        if isinstance(event, TurnStarted):
            self._turns += 1
            if event.turn_id is None or not usable_id(event.turn_id):
                event.turn_id = f"synthetic-turn-{self._turns}"
        if event.turn_id is None:
            event.turn_id = self.turn_id
        elif usable_id(event.turn_id):
            self.turn_id = event.turn_id
        if isinstance(event, TurnCompleted | TurnFailed):
            self.turn_id = None

    def _second_look(self, line: Line, error: Exception) -> ThreadEvent | BadLine:
        """A line that no struct of today takes: an older shape, an unknown type, or wrong."""
        if isinstance(line, OversizeLine):
            return BadLine(parse_error_text(f"line longer than {self._limit} bytes", len(line)))
        if not isinstance(error, msgspec.ValidationError):
            return _parse_error(line, error)
        try:
            modern = modernize(line)
        except msgspec.ValidationError:
            return BadLine(parse_error_text("not an object", len(line)))
        except Exception as plain_error:  # noqa: BLE001 - as in `parse`
            return _parse_error(line, plain_error)
        if modern is None:
            return BadLine(normalize_error_text(_field_reason(str(error)), len(line)))
        if isinstance(modern, Unknown):
            return modern
        try:
            event: ThreadEvent = _DECODER.decode(modern)
        except msgspec.ValidationError as shape_error:
            if _OUT_OF_RANGE.match(str(shape_error)):
                return _parse_error(line, shape_error)
            return BadLine(normalize_error_text(_field_reason(str(shape_error)), len(line)))
        except Exception as modern_error:  # noqa: BLE001 - as in `parse`
            return _parse_error(line, modern_error)
        return event


_TURNS = frozenset[type]((ThreadStarted, TurnStarted, TurnCompleted, TurnFailed))
_DECODER = msgspec.json.Decoder(DecodedEvent)


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
    return BadLine(parse_error_text(reason, len(line)))


_BYTE = re.compile(r"\(byte ([0-9]{1,20})\)\Z")
_OUT_OF_RANGE = re.compile(r"(?:Number|Integer value) out of range")
_MISSING = re.compile(r"\AObject missing required field `([a-z_]+)`")
_PATH = re.compile(r" - at `\$[^`]*?([a-z_]+)(?:\[[^`]*)?`\Z")


def _own_field_names() -> frozenset[str]:
    structs = (getattr(thread_events, name) for name in thread_events.__all__)
    names: set[str] = {"type"}
    for struct in structs:
        names.update(getattr(struct, "__struct_fields__", ()))
    return frozenset(names)


_FIELDS = _own_field_names()


def _field_reason(message: str) -> str:
    """Which field of our own schema is at fault; the library's words stay here (X3)."""
    missing = _MISSING.match(message)
    if missing is not None and missing[1] in _FIELDS:
        return f"missing field {missing[1]}"
    wrong = _PATH.search(message)
    if wrong is not None and wrong[1] in _FIELDS:
        return f"wrong type for field {wrong[1]}"
    return "wrong shape"
