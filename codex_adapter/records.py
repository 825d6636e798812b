"""The wire records: one JSON object a line for every event, and one for the completion (W1 to W3, J19).

Writing is on the way of every event; what only reading needs is made when the first record is read (V1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias, Union, get_args

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
    "in_pieces",
    "text_size",
]

_LONGEST_TEXT: Final = 65_536
_MUCH_TEXT: Final = 1024 * 1024
"""Characters of text that are encoded in one piece."""
_TEXT: Final = attrgetter("text")
_encoder = msgspec.json.Encoder()
_LINE_ENDS = re.compile(b"\xe2\x80[\xa8\xa9]")


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a run came to no completion: the error's name on the wire, its canonical message, for the kind `backend` the
    failure in one word, a known cause, and the next step (W2)."""

    kind: str
    message: str
    failure: BackendKind | None = None
    hint: Hint | None = None
    advice: str | None = None


class FailedRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="completion"):
    """The last record of any other run."""

    seq: int
    outcome: Literal["failed"] = "failed"
    ok: bool = False
    error: ErrorBody


class CompletedRecord(msgspec.Struct, frozen=True):
    """The last record of a run that came to a completion, and its place in the stream (W2)."""

    seq: int
    completion: Completion


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="run"):
    """What a run was asked for: the first line of its journal (J19).

    `release` is that of the agent's CLI, `containment` the level at which the run was held; `labels` are the caller's.
    What is not known, as of a run that was cancelled before its checks, is None.
    """

    run_id: str
    agent_kind: str | None = None
    working_dir: str | None = None
    model: str | None = None
    release: str | None = None
    containment: str | None = None
    labels: Mapping[str, str] = {}
    prompt: str | None = None


Record: TypeAlias = Event | CompletedRecord | FailedRecord
"""What one line of a stream holds."""


class _Failed(msgspec.Struct, frozen=True, kw_only=True, tag_field="outcome", tag="failed"):
    ok: bool = False
    error: ErrorBody


def encode_events(events: Sequence[Event]) -> bytes:
    """The lines of some events, each with its newline (W1)."""
    return encode_lines(events)


def encode_lines(values: Sequence[object]) -> bytes:
    """Any values as JSON, each on a line of its own; they may hold events."""
    # Of what is no list, msgspec's own loop never lets go again.
    return _one_line_for_everybody(_encoder.encode_lines(values if isinstance(values, list) else [*values]))


def in_pieces(events: Sequence[Event], most: int = _MUCH_TEXT) -> Iterator[Sequence[Event]]:
    """A batch of events, at least one, in parts that are encoded each by itself: whole where its texts have fewer than
    `most` characters, a multiple of what one text can have. The events of one long line are megabytes."""
    step = len(events) if text_size(events) < most else most // _LONGEST_TEXT
    for start in range(0, len(events), step):
        yield events[start : start + step]


def text_size(events: Sequence[Event]) -> int:
    """The characters of the texts of some events."""
    return sum(map(len, filter(None, map(_TEXT, events))))


def encode_completion(seq: int, outcome: Completion | AdapterError) -> bytes:
    """The line of the completion, or of the error in its place, with its newline (W2, W3).

    `seq` is the number after that of the last event.
    """
    return _one_line_for_everybody(b'{"type":"completion","seq":%d,%b\n' % (seq, completion_body(outcome)[1:]))


def completion_body(outcome: Completion | AdapterError) -> bytes:
    """The JSON object of a completion without the fields that place it in a stream (W2)."""
    if isinstance(outcome, Completion):
        ok = b"true" if outcome.ok else b"false"
        body = _encoder.encode(outcome)[1:]
        if outcome.advice is not None:
            body = b'%b,"advice":%b}' % (body[:-1], _encoder.encode(outcome.advice))
        return b'{"outcome":"completed","ok":%b,%b' % (ok, body)
    if isinstance(outcome, BackendError):
        error = ErrorBody(outcome.kind, str(outcome), outcome.failure, outcome.hint, outcome.advice)
    else:
        error = ErrorBody(outcome.kind, str(outcome))
    return _encoder.encode(_Failed(error=error))


def encode_record(record: Record) -> bytes:
    """The line of a record, with its newline (W1, W2)."""
    match record:
        case Event():
            return encode_events((record,))
        case CompletedRecord(seq=seq, completion=completion):
            return encode_completion(seq, completion)
    return _one_line_for_everybody(_encoder.encode(record) + b"\n")


def decode_record(line: bytes) -> Record:
    """What a line of a stream holds, with its newline or without (W1, W2).

    Reads what later releases may write as far as it can be known here: fields that nobody knows are left out, and so is
    `data` of an unknown schema and a `hint` or a `failure` that is not in the list. Raises ValueError, in whose text is
    nothing of the line, for what is no record: no JSON object in UTF-8, another `type`, `outcome` or `kind`, a field of
    another type or one that is missing (X1).
    """
    try:
        return _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("not a record: no JSON object with the fields of an event or of a completion") from None


def decode_run_record(line: bytes) -> RunRecord:
    """Return the run record in a line, its unknown fields left out. Raise ValueError for any other line (J19, X1)."""
    try:
        return _run_reader().decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("not a run record") from None


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
    # One a run, and small: read as any JSON first, so that a word which nobody knows here costs no more than itself.
    fields: dict[str, Any] = msgspec.json.decode(line)
    if place.outcome == "completed":
        return CompletedRecord(place.seq, msgspec.convert(_without_strange_words(fields), Completion))
    if place.outcome == "failed":
        error = _without_strange_words(fields.get("error"))
        return FailedRecord(seq=place.seq, error=msgspec.convert(error, ErrorBody))
    raise ValueError("not a record: outcome must be completed or failed")


def _facet(data: msgspec.Raw) -> Facet | None:
    try:
        facet: Facet | None = _facet_reader().decode(data)
    except msgspec.ValidationError:
        told = _schema_reader().decode(data)
        if told.schema is None and told.dropped is not None:
            return Dropped(told.dropped)
        if told.schema in _SCHEMAS:
            raise
        return None
    return facet


def _without_strange_words(fields: Any) -> Any:
    """Remove a hint and a failure of a later release, which are not in the lists of this one."""
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
    # msgspec tells apart in a union only what has a tag, and what stands in place of a dropped facet has none.
    return msgspec.json.Decoder(Union[(*_FACETS, None)])


def _one_line_for_everybody(data: bytes) -> bytes:
    """U+2028 and U+2029 escaped: JSON allows them as they are, and some readers of lines end a line there (W1)."""
    # One byte that is rare is found sixty times faster than the pattern is searched.
    return _LINE_ENDS.sub(_escaped, data) if b"\xe2" in data else data


def _escaped(line_end: re.Match[bytes]) -> bytes:
    return rb"\u2028" if line_end[0].endswith(b"\xa8") else rb"\u2029"
