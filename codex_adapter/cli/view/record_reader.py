"""Lines of a journal, or of saved output, to records with what places them: their time, their run, what is missing."""

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
    """A record in its place.

    `time` is when it was written, in seconds since 1970, None where the line does not say; `opens` when a run begins
    with it; `missing` is how many records of its run are not there between the one before and it (W1). `asked` is what
    the run that begins was asked for, None where the file does not say (J19).
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
    """Reads the bytes of one file as they come (C10).

    `records` counts them, `strange` the lines that are none; `torn` tells of a last one that is not whole. `asked` is
    what a run was asked for of which no record was read yet, None where there is no such run (J19).
    """

    def __init__(self) -> None:
        self._framer = LineFramer(_MAX_LINE_BYTES)
        self._next_seq: int | None = None
        self.asked: RunRecord | None = None
        self.records = 0
        self.strange = 0
        self.torn = False

    def receive_data(self, data: bytes) -> Iterator[PlacedRecord]:
        """The records of the lines that `data` completes."""
        return self._placed_records(self._framer.receive_data(data))

    def receive_eof(self) -> Iterator[PlacedRecord]:
        """The record after the last newline, if there is one."""
        strange = self.strange
        yield from self._placed_records(self._framer.receive_eof())
        self.torn = self.strange > strange
        self.strange = strange

    def _placed_records(self, lines: list[Line]) -> Iterator[PlacedRecord]:
        for line in lines:
            if isinstance(line, OversizeLine):
                self.strange += 1
            elif content := bytes(content_of(line)):
                try:
                    record = decode_record(content)
                except ValueError:
                    self._take_other(content)
                else:
                    yield self._placed(record, time_of(content))

    def _take_other(self, line: bytes) -> None:
        """Take a line that is no record of the stream: what a run was asked for, or something strange."""
        try:
            self.asked = decode_run_record(line)
        except ValueError:
            self.strange += 1

    def _placed(self, record: Record, time: float | None) -> PlacedRecord:
        self.records += 1
        opens = self._next_seq is None or record.seq < self._next_seq
        missing = record.seq - (0 if opens or self._next_seq is None else self._next_seq)
        # After its completion a run has nothing more: whatever comes begins another.
        self._next_seq = record.seq + 1 if isinstance(record, Event) else None
        asked = None
        if opens:
            asked, self.asked = self.asked, None
        return PlacedRecord(record, time, opens, missing, asked)


def time_of(line: bytes) -> float | None:
    """Return when a line was written, in seconds since 1970, None where it does not say."""
    try:
        time = _stamps.decode(line).time
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if time is None:
        return None
    seconds = (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
    return seconds if 0 <= seconds < _END_OF_TIME else None
