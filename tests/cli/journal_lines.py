"""Write journals for tests from agent lines and the seconds before each line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from codex_adapter import AdapterError, Completion, Event, ExitStatus, codex_pipeline
from codex_adapter.cli.view.record_reader import PlacedRecord, RecordReader
from codex_adapter.cli.view.timeline import RunTimeline, timelines
from codex_adapter.records import encode_completion, encode_events
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    error,
    file_change,
    reasoning,
    thread_started,
    turn_completed,
    turn_started,
)

__all__ = ["BEGAN", "STORY", "Line", "journal", "moments", "records", "runs", "todo_list"]

BEGAN = datetime(2026, 11, 22, 7, 7, 2, 123_000, UTC)
Line = tuple[float, dict[str, Any]]


def todo_list(**steps: bool) -> dict[str, Any]:
    """A plan, with whether each step is done."""
    items = [{"text": text, "completed": done} for text, done in steps.items()]
    return {"type": "item.updated", "item": {"id": "plan", "type": "todo_list", "items": items}}


STORY: list[Line] = [
    (0, thread_started()),
    (1, turn_started()),
    (1, reasoning("item_0", "**Looking**\n\nLet me see.")),
    (1, command_started("item_1", "/bin/bash -lc 'make all'")),
    (2.5, command_completed("item_1", "/bin/bash -lc 'make all'", "cc\nerror: no rule\n", exit_code=2)),
    (1, error("Reconnecting... 1/5")),
    (1, file_change("item_2", {"/w/a.txt": "add"})),
    (0.5, todo_list(one=True, two=False)),
    (1, agent_message("item_3", "The answer.")),
    (1, turn_completed()),
]
"""A run of ten seconds with something of everything."""


def records(lines: Iterable[Line], end: Completion | AdapterError | int | None = 0) -> list[tuple[float, bytes]]:
    """The records of these lines with the seconds at which they were written; `end` is a return code, None for none."""
    pipeline, now, written = codex_pipeline(full_payloads=True), 0.0, list[tuple[float, bytes]]()

    def write(events: Iterable[Event]) -> None:
        written.extend((now, encode_events([event])) for event in events)

    for seconds, line in lines:
        now += seconds
        write(pipeline.receive_data(json.dumps(line).encode() + b"\n"))
    write(pipeline.receive_eof())
    if end is not None:
        outcome = pipeline.completion(ExitStatus.from_returncode(end)) if isinstance(end, int) else end
        written.append((now, encode_completion(len(written), outcome)))
    return written


def journal(written: Iterable[tuple[float, bytes]]) -> bytes:
    """The lines of a journal."""
    return b"".join(
        b'{"time":"%b",%b'
        % ((BEGAN + timedelta(seconds=at)).isoformat(timespec="milliseconds").replace("+00:00", "Z").encode(), line[1:])
        for at, line in written
    )


def moments(data: bytes) -> list[PlacedRecord]:
    """What is read from a file with these bytes."""
    reader = RecordReader()
    return [*reader.receive_data(data), *reader.receive_eof()]


def runs(data: bytes) -> list[RunTimeline]:
    """The runs that a file with these bytes tells of."""
    return timelines(moments(data))
