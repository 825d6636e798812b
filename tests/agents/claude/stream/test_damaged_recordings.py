"""Test recordings of the newest release with a long text or an odd value in any place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest

from codex_adapter import Completion, Event, Pipeline
from codex_adapter.agents.claude.agent import AGENT
from codex_adapter.agents.claude.stream.decoder import ClaudeDecoder
from codex_adapter.core.masking.masker import Masker
from codex_adapter.events import Dropped, ExitStatus, Tool, ToolCall
from codex_adapter.records import decode_record, encode_completion, encode_events, encode_record

RECORDINGS = Path(__file__).parents[4] / "fixtures" / "claude_code"
ROWS = [json.loads(line) for line in (RECORDINGS / "index.jsonl").read_text().splitlines()]
NEWEST = ROWS[-1]["version"]

MOST_PLACES = [12, pytest.param(150, marks=pytest.mark.nightly)]

each_of_the_newest_release = pytest.mark.parametrize(
    ("file", "status"),
    [(RECORDINGS / NEWEST / f"{row['scenario']}.jsonl", row["returncode"]) for row in ROWS if row["version"] == NEWEST],
    ids=[row["scenario"] for row in ROWS if row["version"] == NEWEST],
)


def full_decoder(masker: Masker) -> ClaudeDecoder:
    return AGENT.decoder(masker, full_payloads=True)


def decoded(reads: Iterable[bytes], returncode: int, *, full: bool = False) -> tuple[list[Event], Completion]:
    pipeline = Pipeline(full_decoder if full else AGENT.decoder)
    events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
    return events, pipeline.completion(ExitStatus.from_returncode(returncode))


@pytest.mark.rule("B2", "B3", "B4")
@each_of_the_newest_release
@pytest.mark.parametrize("most", MOST_PLACES)
def test_a_long_string_in_any_field_keeps_the_bounds(file: Path, status: int, most: int) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    random = Random(file.stem)
    places = [(number, place) for number, line in enumerate(lines) for place in strings(json.loads(line))]
    for number, place in random.sample(places, min(len(places), most)):
        value = json.loads(lines[number])
        plant(value, place, "long " * 30_000)
        events, _ = decoded([*lines[:number], json.dumps(value).encode() + b"\n", *lines[number + 1 :]], status)
        for event in events:
            assert len((event.text or "").encode()) <= 65_536
            assert len((event.message or "").encode()) <= 4_096
            assert len(msgspec.json.encode(event.data)) <= 65_536, place


@pytest.mark.rule("L4", "AG3", "M9", "W1")
@each_of_the_newest_release
@pytest.mark.parametrize("most", MOST_PLACES)
def test_any_value_in_any_place_gives_whole_records(file: Path, status: int, most: int) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    random = Random(file.stem)
    places = [(number, place) for number, line in enumerate(lines) for place in all_places(json.loads(line))]
    for number, place in random.sample(places, min(len(places), most)):
        for odd in random.sample(ODD_VALUES, 3):
            value = json.loads(lines[number])
            plant(value, place, odd)
            mutated = [*lines[:number], json.dumps(value).encode() + b"\n", *lines[number + 1 :]]
            events, completion = decoded(mutated, status, full=True)
            records = [*encode_events(events).splitlines(), encode_completion(len(events), completion)]
            assert [encode_record(decode_record(record)) for record in records[:-1]] == [
                line + b"\n" for line in records[:-1]
            ]
            if not any(isinstance(event.data, Dropped) for event in events):
                called = {tool.backend_item_id for tool in tools(events, "tool_call")}
                assert called <= {tool.backend_item_id for tool in tools(events, "tool_result")}, place


ODD_VALUES: list[object] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "t",
    "\u00e9\u2028",
    [],
    [7],
    {},
    {"id": 7},
    "x" * 70_000,
]


def tools(events: Iterable[Event], kind: str) -> Iterator[Tool]:
    """Return the tools of the events of a kind, without calls that have no id."""
    for event in events:
        if event.kind == kind and isinstance(event.data, ToolCall) and event.data.tool.backend_item_id:
            yield event.data.tool


def all_places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Return the path of each part of a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield (*path, name)
        yield from all_places(part, (*path, name))


def strings(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Return the path of each string of a JSON value, but for the type of its line."""
    if isinstance(value, str) and path != ("type",):
        yield path
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from strings(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from strings(inner, (*path, index))


def plant(value: object, path: tuple[str | int, ...], text: object) -> None:
    *above, last = path
    for step in above:
        value = value[step]  # type: ignore[index]
    value[last] = text  # type: ignore[index]
