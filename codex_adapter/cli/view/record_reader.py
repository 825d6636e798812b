"""Read records from the lines of a journal or of saved output, with their time and run, and count missing ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from codex_adapter.core.framing import Line, LineFramer, OversizeLine, content_of
from codex_adapter.events import Event
from codex_adapter.records import Record, RunRecord, decode_record, decode_run_record

__all__ = ["PlacedRecord", "RecordReader", "time_of"]

_MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_END_OF_TIME: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


class PlacedRecord(NamedTuple):
    """A record with its context.

    `time` is when it was written, in seconds since 1970, None if the line has no time. `opens` is true for the first
    record of a run. `missing` is the number of missing records of its run directly before it. `asked` is the request of
    a run that starts with it, None if the file has no request. (W1, J19)
    """

    record: Record
    time: float | None
    opens: bool
    missing: int
    asked: RunRecord | None


class _Stamp(msgspec.Struct):
    time: datetime | None = None


_stamps = msgspec.json.Decoder(_Stamp)


class RecordReader:
    """A reader for the bytes of one file.

    `records` counts records, `invalid` other lines; `torn` is true if the last line is incomplete. `asked` is the
    request of a run without a record so far, else None. (C10, J19)
    """

    def __init__(self) -> None:
        self._framer = LineFramer(_MAX_LINE_BYTES)
        self._next_seq: int | None = None
        self.asked: RunRecord | None = None
        self.records = 0
        self.invalid = 0
        self.torn = False

    def receive_data(self, data: bytes) -> Iterator[PlacedRecord]:
        """Yield the records of the lines that `data` completes."""
        return self._read_records(self._framer.receive_data(data))

    def receive_eof(self) -> Iterator[PlacedRecord]:
        """Yield the record after the last newline, if one exists."""
        invalid = self.invalid
        yield from self._read_records(self._framer.receive_eof())
        self.torn = self.invalid > invalid
        self.invalid = invalid

    def _read_records(self, lines: list[Line]) -> Iterator[PlacedRecord]:
        for line in lines:
            if isinstance(line, OversizeLine):
                self.invalid += 1
            elif content := bytes(content_of(line)):
                try:
                    record = decode_record(content)
                except ValueError:
                    self._take_other(content)
                else:
                    yield self._place(record, time_of(content))

    def _take_other(self, line: bytes) -> None:
        """Take a line that is not a record of the stream: a request of a run, or an invalid line."""
        try:
            self.asked = decode_run_record(line)
        except ValueError:
            self.invalid += 1

    def _place(self, record: Record, time: float | None) -> PlacedRecord:
        self.records += 1
        opens = self._next_seq is None or record.seq < self._next_seq
        missing = record.seq - (0 if opens or self._next_seq is None else self._next_seq)
        # A run has no record after its completion: a later record starts another run.
        self._next_seq = record.seq + 1 if isinstance(record, Event) else None
        asked = None
        if opens:
            asked, self.asked = self.asked, None
        return PlacedRecord(record, time, opens, missing, asked)


def time_of(line: bytes) -> float | None:
    """Return when a line was written, in seconds since 1970, None if it has no time."""
    try:
        time = _stamps.decode(line).time
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if time is None:
        return None
    seconds = (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
    return seconds if 0 <= seconds < _END_OF_TIME else None
