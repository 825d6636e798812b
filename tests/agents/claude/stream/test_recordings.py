"""Test that each recording of the real CLI has its golden records, however its bytes are cut."""

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
from codex_adapter.events import AgentInfo, Dropped, ExitStatus, RateLimit, Retry, TokenUsage, Tool, ToolCall
from codex_adapter.hints import Hint
from codex_adapter.records import decode_record, encode_completion, encode_events, encode_record
from tests.regenerate_goldens import golden

SECRET = "hunter2-canary-of-a-line"
HINTS: dict[str, Hint] = {
    "no_sandbox": "sandbox_unavailable",
    "max_turns": "answer_incomplete",
    "max_budget": "quota_exceeded",
    "session_unknown": "session_unknown",
    "unauthorized": "not_logged_in",
    "forbidden": "forbidden",
    "model_unknown": "model_unknown",
    "rate_limited": "rate_limited",
    "server_error": "server_error",
    "overloaded": "overloaded",
    "not_reached": "no_network",
    "answer_cut": "stream_cut",
}
"""The hints of the runs that failed; `interrupted` has none."""


def full_decoder(masker: Masker) -> ClaudeDecoder:
    return AGENT.decoder(masker, full_payloads=True)


def decoded(
    reads: Iterable[bytes], returncode: int, *, full: bool = False, secrets: Iterable[str] = ()
) -> tuple[list[Event], Completion]:
    pipeline = Pipeline(full_decoder if full else AGENT.decoder, secrets=secrets)
    events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
    return events, pipeline.completion(ExitStatus.from_returncode(returncode))


def records(reads: Iterable[bytes], returncode: int, *, full: bool) -> bytes:
    events, completion = decoded(reads, returncode, full=full)
    return encode_events(events) + encode_completion(len(events), completion)


def cut_at_random(data: bytes, random: Random) -> Iterator[bytes]:
    largest = random.choice([2, 30, 300, 5_000])
    while data:
        size = random.randint(1, largest)
        yield data[:size]
        data = data[size:]


@pytest.mark.rule("Y1", "M0", "W1", "W2")
def test_a_recording_gives_its_golden_records(recording: Path, returncode: int) -> None:
    """The goldens are written by `tests/regenerate_goldens.py`; look at each change before it is committed."""
    expected = recording.with_suffix(".events.jsonl").read_bytes()
    assert golden(recording.read_bytes(), returncode, "claude_code") == expected


@pytest.mark.rule("Y1", "L5", "M7")
@pytest.mark.parametrize("full", [False, True])
def test_the_records_do_not_depend_on_the_reads(recording: Path, returncode: int, full: bool) -> None:
    stdout = recording.read_bytes()
    whole = records([stdout], returncode, full=full)
    assert records(cut_at_random(stdout, Random(recording.stem)), returncode, full=full) == whole


@pytest.mark.rule("Y1")
def test_each_recording_has_a_golden_and_each_golden_a_recording() -> None:
    root = Path(__file__).parents[4] / "fixtures" / "claude_code"
    rows = [json.loads(row) for row in (root / "index.jsonl").read_text().splitlines()]
    stems = {root / row["version"] / row["scenario"] for row in rows}
    assert len(stems) == len(rows)
    assert set(root.glob("*/*")) == {
        Path(f"{stem}{suffix}") for stem in stems for suffix in (".jsonl", ".events.jsonl")
    }


@pytest.mark.rule("F9", "F11", "AG4", "AG8")
def test_the_outcome_is_the_true_one(recording: Path, returncode: int) -> None:
    events, completion = decoded([recording.read_bytes()], returncode)
    failed = recording.stem in HINTS or recording.stem == "interrupted"
    assert completion.turn == ("failed" if failed else "completed")
    assert completion.hint == HINTS.get(recording.stem)
    assert completion.ok != failed
    assert [event for event in events if event.kind == "unknown"] == []
    assert (completion.final_text is None) == failed


@pytest.mark.rule("M3", "M9")
def test_each_call_has_exactly_one_result(recording: Path, returncode: int) -> None:
    events, _ = decoded([recording.read_bytes()], returncode)
    ids: dict[str, list[str | None]] = {"tool_call": [], "tool_result": []}
    for event in events:
        if isinstance(event.data, ToolCall) and event.data.tool.phase != "delta":
            ids[event.kind].append(event.data.tool.tool_use_id)
    assert sorted(map(str, ids["tool_result"])) == sorted(map(str, ids["tool_call"]))


@pytest.mark.rule("F13")
def test_the_cost_is_the_sum_of_the_turns(recording: Path, returncode: int) -> None:
    events, completion = decoded([recording.read_bytes()], returncode)
    turns = [event.data.cost_usd for event in events if isinstance(event.data, TokenUsage)]
    assert completion.cost_usd is not None
    if completion.turn == "completed":
        assert completion.cost_usd == pytest.approx(sum(cost or 0 for cost in turns))
    if recording.stem == "resumed":
        assert b'"total_cost_usd":0.003232' in recording.read_bytes()
        assert completion.cost_usd == 0.001616


@pytest.mark.rule("M12", "M13", "M14")
def test_what_the_cli_reports_of_itself_and_of_the_service_is_in_a_facet(recording: Path, returncode: int) -> None:
    events, _ = decoded([recording.read_bytes()], returncode)
    facets = [type(event.data) for event in events]
    data = recording.read_bytes()
    assert facets.count(Retry) == data.count(b'"subtype":"api_retry"')
    assert facets.count(RateLimit) == data.count(b'"type":"rate_limit_event"')
    assert (AgentInfo in facets) == (b'"subtype":"init"' in data)


@pytest.mark.rule("X5")
def test_a_secret_in_any_field_of_a_line_is_masked(recording: Path, returncode: int) -> None:
    """Replace one string after another by a secret, and look for it in everything that the run shows."""
    lines = recording.read_bytes().splitlines(keepends=True)
    random = Random(recording.stem)
    for number, line in enumerate(lines):
        places = list(strings(json.loads(line)))
        for place in random.sample(places, min(len(places), 12)):
            value = json.loads(line)
            plant(value, place)
            planted = [*lines[:number], json.dumps(value).encode() + b"\n", *lines[number + 1 :]]
            events, completion = decoded(planted, returncode, full=True, secrets=[SECRET])
            shown = encode_events(events) + encode_completion(len(events), completion)
            assert SECRET.encode() not in shown, place


@pytest.mark.rule("B2", "B3", "B4")
def test_a_long_string_in_any_field_keeps_the_bounds(recording: Path, returncode: int) -> None:
    lines = recording.read_bytes().splitlines(keepends=True)
    random = Random(recording.stem)
    places = [(number, place) for number, line in enumerate(lines) for place in strings(json.loads(line))]
    for number, place in random.sample(places, min(len(places), 40)):
        value = json.loads(lines[number])
        plant(value, place, "long " * 30_000)
        events, _ = decoded([*lines[:number], json.dumps(value).encode() + b"\n", *lines[number + 1 :]], returncode)
        for event in events:
            assert len((event.text or "").encode()) <= 65_536
            assert len((event.message or "").encode()) <= 4_096
            assert len(msgspec.json.encode(event.data)) <= 65_536, place


@pytest.mark.rule("L4", "AG3", "M9", "W1")
def test_any_value_in_any_place_gives_whole_records(recording: Path, returncode: int) -> None:
    lines = recording.read_bytes().splitlines(keepends=True)
    random = Random(recording.stem)
    places = [(number, place) for number, line in enumerate(lines) for place in all_places(json.loads(line))]
    for number, place in random.sample(places, min(len(places), 150)):
        for odd in random.sample(ODD_VALUES, 3):
            value = json.loads(lines[number])
            plant(value, place, odd)
            mutated = [*lines[:number], json.dumps(value).encode() + b"\n", *lines[number + 1 :]]
            events, completion = decoded(mutated, returncode, full=True)
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


def plant(value: object, path: tuple[str | int, ...], text: object = f"it is {SECRET} here") -> None:
    *above, last = path
    for step in above:
        value = value[step]  # type: ignore[index]
    value[last] = text  # type: ignore[index]
