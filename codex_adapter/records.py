"""The wire records: one JSON object a line for every event, and one for the completion (W1 to W3)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from codex_adapter.errors import AdapterError
from codex_adapter.events import Completion, Event

__all__ = ["ErrorBody", "completion_body", "encode_completion", "encode_events"]

_encoder = msgspec.json.Encoder()


class ErrorBody(msgspec.Struct, frozen=True):
    """Why a run came to no completion: the error's name on the wire, and its canonical message (W2)."""

    kind: str
    message: str


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
    return _encoder.encode(_Failed(ErrorBody(outcome.kind, str(outcome))))


def _one_line_for_everybody(data: bytes) -> bytes:
    """U+2028 and U+2029 escaped: JSON allows them as they are, and some readers of lines end a line there (W1)."""
    if b"\xe2\x80" in data:
        data = data.replace(b"\xe2\x80\xa8", rb"\u2028").replace(b"\xe2\x80\xa9", rb"\u2029")
    return data
