"""The wire records: one JSON object a line for every event, and one for the completion (W1 to W3)."""

from __future__ import annotations

import msgspec

from codex_adapter.errors import AdapterError
from codex_adapter.events import Completion, Event

__all__ = ["ErrorBody", "completion_body", "encode_completion", "encode_event"]

_encode = msgspec.json.Encoder().encode


class ErrorBody(msgspec.Struct, frozen=True):
    """Why a run came to no completion: the error's name on the wire, and its canonical message (W2)."""

    kind: str
    message: str


class _Failed(msgspec.Struct, frozen=True, tag_field="outcome", tag="failed"):
    error: ErrorBody


def encode_event(seq: int, event: Event) -> bytes:
    """The line of one event, its newline included (W1)."""
    return b'{"type":"event","seq":%d,%b\n' % (seq, _encode(event)[1:])


def encode_completion(seq: int, outcome: Completion | AdapterError) -> bytes:
    """The line of the completion, or of the error in its place, its newline included (W2, W3)."""
    return b'{"type":"completion","seq":%d,%b\n' % (seq, completion_body(outcome)[1:])


def completion_body(outcome: Completion | AdapterError) -> bytes:
    """The JSON object of a completion without the fields that place it in a stream (W2)."""
    if isinstance(outcome, Completion):
        return b'{"outcome":"completed",' + _encode(outcome)[1:]
    return _encode(_Failed(ErrorBody(outcome.kind, str(outcome))))
