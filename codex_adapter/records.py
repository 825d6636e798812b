"""The wire records: one JSON object a line for every event, and one for the completion (W1 to W3)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from codex_adapter.errors import AdapterError, BackendError, Hint
from codex_adapter.events import Completion, Event

__all__ = ["ErrorBody", "completion_body", "encode_completion", "encode_events"]

_encoder = msgspec.json.Encoder()
_LINE_ENDS = re.compile(b"\xe2\x80[\xa8\xa9]")


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a run came to no completion: the error's name on the wire, its canonical message, and a known cause (W2)."""

    kind: str
    message: str
    hint: Hint | None = None


class _Failed(msgspec.Struct, frozen=True, tag_field="outcome", tag="failed"):
    error: ErrorBody


def encode_events(events: Sequence[Event]) -> bytes:
    """The lines of some events, each with its newline (W1)."""
    return _one_line_for_everybody(_encoder.encode_lines(events))


def encode_completion(seq: int, outcome: Completion | AdapterError) -> bytes:
    """The line of the completion, or of the error in its place, with its newline (W2, W3).

    `seq` is the number after that of the last event.
    """
    return _one_line_for_everybody(b'{"type":"completion","seq":%d,%b\n' % (seq, completion_body(outcome)[1:]))


def completion_body(outcome: Completion | AdapterError) -> bytes:
    """The JSON object of a completion without the fields that place it in a stream (W2)."""
    if isinstance(outcome, Completion):
        return b'{"outcome":"completed",' + _encoder.encode(outcome)[1:]
    hint = outcome.hint if isinstance(outcome, BackendError) else None
    return _encoder.encode(_Failed(ErrorBody(outcome.kind, str(outcome), hint)))


def _one_line_for_everybody(data: bytes) -> bytes:
    """U+2028 and U+2029 escaped: JSON allows them as they are, and some readers of lines end a line there (W1)."""
    # One byte that is rare is found sixty times faster than the pattern is searched.
    return _LINE_ENDS.sub(_escaped, data) if b"\xe2" in data else data


def _escaped(line_end: re.Match[bytes]) -> bytes:
    return rb"\u2028" if line_end[0].endswith(b"\xa8") else rb"\u2029"
