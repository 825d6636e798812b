"""Encode and decode wire records: one JSON object per line, for each event and for the completion.

Every event is encoded here. The decoders are made only when the first record is read (J19, V1, W1 to W3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeAlias, Union, get_args

import msgspec

from codex_adapter.errors import AdapterError, BackendError, BackendKind
from codex_adapter.events import Completion, Dropped, DroppedReason, Event, EventKind, Facet
from codex_adapter.hints import Hint

__all__ = [
    "CompletedRecord",
    "ErrorBody",
    "FailedRecord",
    "Record",
    "RunRecord",
    "completion_body",
    "decode_record",
    "decode_run_record",
    "encode_completion",
    "encode_events",
    "encode_lines",
    "encode_record",
    "split_batch",
    "text_size",
]

_LONGEST_TEXT: Final = 65_536
_MUCH_TEXT: Final = 1024 * 1024
"""The characters of text that are encoded in one piece."""
_TEXT: Final = attrgetter("text")
_encoder = msgspec.json.Encoder()
_LINE_ENDS = re.compile(b"\xe2\x80[\xa8\xa9]")


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The reason why a run failed without a completion.

    `kind` is the error's name on the wire and `message` its canonical message. `failure` is set for the kind `backend`.
    `hint` is a known cause, `advice` the next step (W2).
    """

    kind: str
    """The name of the error."""
    message: str
    """What happened, for a person. It never quotes the agent."""
    failure: BackendKind | None = None
    """Which part of the run failed, if `kind` is `backend`."""
    hint: Hint | None = None
    """The cause, if it is known."""
    advice: str | None = None
    """The next step, for a person."""


class FailedRecord(msgspec.Struct, frozen=True):
    """The last record of a run without a completion, and its place in the stream.

    `session_id` is the session, None if the agent has not reported it. `run_usage` and `cost_usd` are what the run has
    used at least, None if the agent has not reported it (F15, W2).
    """

    seq: int
    error: ErrorBody
    session_id: str | None = None
    run_usage: dict[str, int] | None = None
    cost_usd: float | None = None


class CompletedRecord(msgspec.Struct, frozen=True):
    """The last record of a run with a completion, and its place in the stream (W2)."""

    seq: int
    completion: Completion


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="run"):
    """The request of a run: the first line of its journal.

    `release` is the release of the agent's CLI, `containment` the run's level, `labels` the caller's words. An unknown
    value is None, for example if the run was cancelled before its checks (J19).
    """

    run_id: str
    """The id of the run."""
    agent_kind: str | None = None
    """The kind of the agent."""
    working_dir: str | None = None
    """The directory in which the agent works."""
    model: str | None = None
    """The model, if the request names one."""
    release: str | None = None
    """The release of the agent's CLI."""
    containment: str | None = None
    """The containment level of the run."""
    labels: Mapping[str, str] = {}
    """The labels of the request."""
    prompt: str | None = None
    """The masked beginning of the prompt, if the journal keeps prompts."""


Record: TypeAlias = Event | CompletedRecord | FailedRecord
"""The content of one line of a stream."""


class _Failed(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="outcome", tag="failed"):
    ok: bool
    error: ErrorBody
    session_id: str | None = None
    run_usage: dict[str, int] | None = None
    cost_usd: float | None = None
    hint: Hint | None = None
    advice: str | None = None


def encode_events(events: Sequence[Event]) -> bytes:
    """Return the lines of some events, each with its newline (W1)."""
    return encode_lines(events)


def encode_lines(values: Sequence[object]) -> bytes:
    """Return any values as lines of JSON. The values may contain events."""
    # msgspec's own loop leaks an iterable that is not a list.
    return _escape_line_ends(_encoder.encode_lines(values if isinstance(values, list) else [*values]))


def split_batch(events: Sequence[Event], most: int = _MUCH_TEXT) -> Iterator[Sequence[Event]]:
    """Yield a batch of events in parts that are encoded separately.

    A batch whose texts have fewer than `most` characters is one part. `most` is a multiple of the longest text of an
    event. The events of one long line have megabytes of text.
    """
    step = len(events) if text_size(events) < most else most // _LONGEST_TEXT
    for start in range(0, len(events), step):
        yield events[start : start + step]


def text_size(events: Sequence[Event]) -> int:
    """Return the number of characters in the texts of some events."""
    return sum(map(len, filter(None, map(_TEXT, events))))


def encode_completion(seq: int, outcome: Completion | AdapterError) -> bytes:
    """Return the line of the completion, or of the error instead, with its newline.

    `seq` is the number after that of the last event (W2, W3).
    """
    return _completion_line(seq, completion_body(outcome))


def completion_body(outcome: Completion | AdapterError) -> bytes:
    """Return the JSON object of a completion without the fields that place it in a stream (W2)."""
    if isinstance(outcome, Completion):
        ok = b"true" if outcome.ok else b"false"
        return b'{"outcome":"completed","ok":%b,%b' % (ok, _encoder.encode(outcome)[1:])
    if isinstance(outcome, BackendError):
        error = ErrorBody(outcome.kind, str(outcome), outcome.failure, outcome.hint, outcome.advice)
        return _failed_body(FailedRecord(0, error, outcome.session_id, outcome.run_usage, outcome.cost_usd))
    return _failed_body(FailedRecord(0, ErrorBody(outcome.kind, str(outcome))))


def encode_record(record: Record) -> bytes:
    """Return the line of a record, with its newline (W1, W2)."""
    match record:
        case Event():
            return encode_events((record,))
        case CompletedRecord(seq=seq, completion=completion):
            return encode_completion(seq, completion)
        case FailedRecord(seq=seq):
            return _completion_line(seq, _failed_body(record))


def decode_record(line: bytes) -> Record:
    """Return the record in a line, with or without a newline.

    Records of later releases are read as far as possible. Unknown fields are dropped, and so are `data` of an unknown
    schema and an unknown `hint` or `failure`. Raise ValueError, without any text of the line, if the line is not a
    record: not a JSON object in UTF-8, another `type`, `outcome` or `kind`, a field of another type, or a missing field
    (W1, W2, X1).
    """
    try:
        return _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("not a record: the line must be a JSON object with the fields of a record") from None


def decode_run_record(line: bytes) -> RunRecord:
    """Return the run record in a line, without its unknown fields. Raise ValueError for any other line (J19, X1)."""
    try:
        return _run_reader().decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("not a run record") from None


def _completion_line(seq: int, body: bytes) -> bytes:
    return _escape_line_ends(b'{"type":"completion","seq":%d,%b\n' % (seq, body[1:]))


def _failed_body(record: FailedRecord) -> bytes:
    """Return the JSON object of a run without a completion.

    Hint and advice are beside the error too, where they are in a completion (W2).
    """
    error = record.error
    fields = (error, record.session_id, record.run_usage, record.cost_usd, error.hint, error.advice)
    return _encoder.encode(_Failed(False, *fields))


def _decode(line: bytes) -> Record:
    place = _place_reader().decode(line)
    if place.seq < 0:
        raise ValueError("not a record: seq must not be negative")
    if place.type == "event":
        event = _event_reader().decode(line)
        data = _facet(event.data)
        return Event(place.seq, event.agent_kind, event.kind, event.channel, event.text, event.message, data)
    if place.type != "completion":
        raise ValueError("not a record: type must be event or completion")
    # A run has one completion, and it is small. Decode it as any JSON first, so that only an unknown word is dropped.
    fields: dict[str, Any] = msgspec.json.decode(line)
    if place.outcome == "completed":
        return CompletedRecord(place.seq, msgspec.convert(_without_unknown_words(fields), Completion))
    if place.outcome == "failed":
        _without_unknown_words(fields.get("error"))
        return msgspec.convert(fields, FailedRecord)
    raise ValueError("not a record: outcome must be completed or failed")


def _facet(data: msgspec.Raw) -> Facet | None:
    try:
        facet: Facet | None = _facet_reader().decode(data)
    except msgspec.ValidationError:
        tagged = _schema_reader().decode(data)
        if tagged.schema is None and tagged.dropped is not None:
            return Dropped(tagged.dropped)
        if tagged.schema in _SCHEMAS:
            raise
        return None
    return facet


def _without_unknown_words(fields: Any) -> Any:
    """Remove a hint or a failure of a later release, which the lists of this release do not have."""
    for name, words in (("hint", Hint), ("failure", BackendKind)):
        if isinstance(fields, dict) and fields.get(name) not in get_args(words):
            fields.pop(name, None)
    return fields


class _Place(msgspec.Struct):
    type: str
    seq: int
    outcome: str | None = None


class _Event(msgspec.Struct):
    agent_kind: str
    kind: EventKind
    channel: str | None = None
    text: str | None = None
    message: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"null")


class _Schema(msgspec.Struct):
    schema: str | None = None
    dropped: DroppedReason | None = None


_FACETS: Final = tuple(facet for facet in get_args(Facet) if facet is not Dropped)
_SCHEMAS: Final = frozenset(facet.__struct_config__.tag for facet in _FACETS)


@cache
def _place_reader() -> msgspec.json.Decoder[_Place]:
    return msgspec.json.Decoder(_Place)


@cache
def _run_reader() -> msgspec.json.Decoder[RunRecord]:
    return msgspec.json.Decoder(RunRecord)


@cache
def _event_reader() -> msgspec.json.Decoder[_Event]:
    return msgspec.json.Decoder(_Event)


@cache
def _schema_reader() -> msgspec.json.Decoder[_Schema]:
    return msgspec.json.Decoder(_Schema)


@cache
def _facet_reader() -> msgspec.json.Decoder[Any]:
    # msgspec distinguishes the members of a union by tag, and the replacement of a dropped facet has no tag.
    return msgspec.json.Decoder(Union[(*_FACETS, None)])


def _escape_line_ends(data: bytes) -> bytes:
    """Escape U+2028 and U+2029. JSON allows them, but some line readers end a line there (W1)."""
    # Finding one rare byte is sixty times faster than searching the pattern.
    return _LINE_ENDS.sub(_escape, data) if b"\xe2" in data else data


def _escape(line_end: re.Match[bytes]) -> bytes:
    return rb"\u2028" if line_end[0].endswith(b"\xa8") else rb"\u2029"
