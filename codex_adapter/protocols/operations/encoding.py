"""Encode events and their messages as JSON on one line, complete or in pieces (O3, O4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from io import BytesIO

import msgspec
from msgspec import UNSET

from codex_adapter.protocols.operations.events import OperationEvent, ReadFileEvent
from codex_adapter.protocols.operations.messages import PROTOCOL_VERSION, Status
from codex_adapter.records import encode_lines

__all__ = ["encode_events_message", "event_pieces", "events_message_pieces", "timestamp"]


def timestamp(moment: datetime) -> str:
    """Return a time as in events: UTC, milliseconds, `Z`. It must have a time zone (O4)."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def encode_events_message(
    run_id: str, status: Status, events: Iterable[OperationEvent | bytes | Iterator[bytes]]
) -> bytes:
    """Return an events message as one line with its newline. Events may be JSON already, complete or in pieces (O4)."""
    line = BytesIO()  # a list of the pieces and their join would take twice the memory
    line.writelines(events_message_pieces(run_id, status, events))
    return line.getvalue()


def events_message_pieces(
    run_id: str, status: Status, events: Iterable[OperationEvent | bytes | Iterator[bytes]]
) -> Iterator[bytes]:
    """Yield an events message in pieces. Each event is read from `events` when it is needed (O3)."""
    head = {"protocolVersion": PROTOCOL_VERSION, "runId": run_id, "status": status}
    yield encode_lines([head])[:-2] + b',"events":['
    for place, event in enumerate(events):
        if place:
            yield b","
        if isinstance(event, bytes):
            yield event
        elif isinstance(event, Iterator):
            yield from event
        else:
            yield from event_pieces(event)
    yield b"]}\n"


def event_pieces(event: OperationEvent) -> Iterator[bytes]:
    """Yield one event in pieces. The content of a file is never one value in memory (O3)."""
    if isinstance(event, ReadFileEvent) and event.content is not UNSET:
        yield encode_lines([msgspec.structs.replace(event, content=UNSET)])[:-2] + b',"content":'
        yield from event.content.json_pieces()
        yield b"}"
    else:
        yield encode_lines([event])[:-1]
