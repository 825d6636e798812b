"""Test that every reported tool call gets a result, even if the CLI sends none."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.events import Dropped, Event, ToolCall
from codex_adapter.records import encode_events
from tests.agents.codex.stream.test_pipeline import SECRET, STREAMS

from ...recordings import each_recording

pytestmark = pytest.mark.rule("M9")

THREAD = {"type": "thread.started", "thread_id": "T"}
STARTED = {"type": "turn.started"}
COMPLETED = {"type": "turn.completed", "usage": {"input_tokens": 3}}
FAILED = {"type": "turn.failed", "error": {"message": "boom"}}
OPEN = {"phase": "start", "status": "running"}
CLOSED = {"phase": "complete", "status": "unknown", "exit_code": None}
NOTHING = {"stdout": 0, "stderr": 0, "diff": 0, "result": 0}


def call(phase: str, item_id: str, item_type: str = "command_execution", **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{phase}", "item": {"id": item_id, "type": item_type, **fields}}


def told(*lines: dict[str, Any], pipeline: Pipeline | None = None, end: bool = True) -> list[Event]:
    pipeline = pipeline or codex_pipeline()
    events = pipeline.receive_data(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    events += pipeline.receive_eof() if end else []
    assert [event.seq for event in events] == list(range(len(events)))
    return events


def tools(events: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    """Kind and tool of the events about tools, as they stand on the wire."""
    lines = [json.loads(line) for line in encode_events(events).split(b"\n") if line]
    return [(line["kind"], line["data"]["tool"]) for line in lines if line["kind"].startswith("tool_")]


def short(events: list[Event]) -> list[str]:
    """Each event in a word: the id of a tool with what it says, else the kind."""
    words: list[str] = []
    for event in events:
        tool = event.data.tool if isinstance(event.data, ToolCall) else None
        words.append(event.kind if tool is None else f"{tool.backend_item_id} {tool.status}")
    return words


@pytest.mark.parametrize("end", [COMPLETED, FAILED])
def test_before_a_turns_end_its_open_calls_get_a_result_the_oldest_first(end: dict[str, Any]) -> None:
    lines = [THREAD, STARTED, call("started", "b"), call("started", "c"), call("started", "a"), call("completed", "c")]
    assert short(told(*lines, end)) == [
        *("status", "status", "b running", "c running", "a running", "c completed"),
        *("b unknown", "a unknown", "status"),
    ]


def test_at_the_end_of_the_stream_too() -> None:
    events = told(THREAD, STARTED, call("started", "a"))
    assert short(events) == ["status", "status", "a running", "a unknown"]
    assert short(told({**call("started", "a"), "thread_id": "T"})) == ["a running", "a unknown", "status"]


def test_the_result_has_the_ids_and_names_that_were_last_shown_and_nothing_else() -> None:
    mcp: dict[str, Any] = {"item_type": "mcp_tool_call", "server": "files", "arguments": {"path": "x"}}
    lines = [call("started", "a", tool="read", **mcp), call("updated", "a", tool="write", **mcp)]
    *_, (kind, tool) = tools(told(THREAD, STARTED, *lines, COMPLETED))
    assert kind == "tool_result"
    ids = {"backend_item_id": "a", "thread_id": "T", "turn_id": "synthetic-turn-1"}
    names = {"kind": "mcp_tool_call", "tool_name": "files/write", "tool_use_id": None}
    assert tool == {**ids, **names, **CLOSED, "bytes": NOTHING}


def test_of_a_call_with_an_outcome_that_was_still_running_nothing_is_told() -> None:
    line = call("updated", "a", aggregated_output="four", exit_code=7, status="in_progress")
    (_, before), (_, after) = tools(told(STARTED, line))
    assert (before["exit_code"], before["bytes"]["stdout"]) == (7, 4)
    assert (after["exit_code"], after["bytes"]) == (None, NOTHING)


def test_a_result_that_comes_after_all_is_passed_on_as_it_is() -> None:
    late = call("completed", "a", aggregated_output="four", exit_code=0, status="completed")
    events = told(STARTED, call("started", "a"), COMPLETED, late)
    assert short(events) == ["status", "a running", "a unknown", "status", "a completed"]


def test_a_call_that_goes_on_after_it_was_closed_is_closed_again() -> None:
    events = told(STARTED, call("started", "a"), COMPLETED, call("updated", "a"))
    assert short(events) == ["status", "a running", "a unknown", "status", "a running", "a unknown"]


def test_a_notice_of_the_session_stands_between_the_result_and_the_turns_end() -> None:
    events = told(call("started", "a"), {**COMPLETED, "thread_id": "T"})
    assert short(events) == ["a running", "a unknown", "status", "status"]


@pytest.mark.rule("M7")
def test_the_result_has_no_payloads() -> None:
    line = call("started", "a", command="make it")
    first, last = told(line, pipeline=codex_pipeline(full_payloads=True))
    assert isinstance(first.data, ToolCall)
    assert isinstance(last.data, ToolCall)
    assert first.data.input is not None
    assert (last.data.input, last.data.output) == (None, None)


@pytest.mark.rule("X5")
@pytest.mark.parametrize("end", [COMPLETED, {"type": "item.completed"}])
def test_what_is_secret_in_a_call_is_secret_in_its_result(end: dict[str, Any]) -> None:
    pipeline = codex_pipeline(secrets=(SECRET,))
    turn = {**STARTED, "turn_id": f"turn {SECRET}"}
    told(turn, call("started", f"id {SECRET}", "mcp_tool_call", server="s", tool=SECRET), pipeline=pipeline, end=False)
    # each read by itself: nothing of what was masked for the call's own event is left over
    events = pipeline.receive_data(json.dumps(end).encode() + b"\n") + pipeline.receive_eof()
    (_, tool) = tools(events)[0]
    assert (tool["backend_item_id"], tool["tool_name"], tool["turn_id"]) == ("id ***", "s/***", "turn ***")
    assert SECRET not in repr(events)


@pytest.mark.rule("B4", "B6")
@pytest.mark.parametrize("end", [[COMPLETED], []])
def test_a_result_over_its_bound_is_bounded_as_its_call_was(end: list[dict[str, Any]]) -> None:
    events = told(STARTED, call("started", "x" * 70_000), call("started", "a"), *end)
    assert isinstance(events[1].data, Dropped)
    assert isinstance(events[3].data, Dropped)
    assert [event.kind for event in events[3:5]] == ["tool_result"] * 2


def test_of_more_calls_than_an_agent_can_have_the_first_are_closed() -> None:
    events = told(*(call("started", str(number)) for number in range(1_030)), call("updated", "7"), COMPLETED)
    closed = [word for word in short(events) if word.endswith("unknown")]
    assert closed == [f"{number} unknown" for number in range(1_024)]


def test_before_a_run_is_ended_its_open_calls_can_be_closed() -> None:
    pipeline = codex_pipeline(secrets=(SECRET,))
    told(STARTED, call("started", f"a {SECRET}"), pipeline=pipeline, end=False)
    events = pipeline.close_tools()
    assert [event.kind for event in events] == ["tool_result"]
    assert short(events) == ["a *** unknown"]
    assert pipeline.close_tools() == []
    assert pipeline.receive_eof() == []


@given(STREAMS)
@example(b'{"type":"item.started","item":{"id":"","type":"web_search"}}')
def test_whatever_the_stream_each_call_is_answered_once_for_each_time_it_is_open(stdout: bytes) -> None:
    pipeline = codex_pipeline(max_line_bytes=150_000)
    is_open: set[str | None] = set()
    opened: Counter[str | None] = Counter()
    closed: Counter[str | None] = Counter()
    for event in pipeline.receive_data(stdout) + pipeline.receive_eof():
        if isinstance(event.data, Dropped) or not isinstance(event.data, ToolCall):
            continue
        tool = event.data.tool
        if "***" in (tool.backend_item_id or ""):
            continue  # masked, different ids may look the same
        if event.kind == "tool_call":
            opened[tool.backend_item_id] += tool.backend_item_id not in is_open
            is_open.add(tool.backend_item_id)
        else:
            closed[tool.backend_item_id] += tool.status == "unknown"
            assert tool.status != "unknown" or tool.backend_item_id in is_open, "nothing was open"
            is_open.discard(tool.backend_item_id)
    assert not is_open, "a call without a result"
    assert closed <= opened


@each_recording("codex")
def test_in_every_recording_each_call_has_just_one_result(recording: Path, returncode: int) -> None:
    pipeline = codex_pipeline()
    events = pipeline.receive_data(recording.read_bytes()) + pipeline.receive_eof()
    found = tools(events)
    calls = {tool["backend_item_id"] for kind, tool in found if kind == "tool_call"}
    results = Counter(tool["backend_item_id"] for kind, tool in found if kind == "tool_result")
    assert calls <= results.keys()
    assert set(results.values()) <= {1}, returncode
