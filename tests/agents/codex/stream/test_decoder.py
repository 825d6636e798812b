"""Test the mapping from thread events to events: each row of the table, and rules for every event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.records import encode_events

from ....rows import rows
from ...recordings import each_recording

TURN_FAILED = {"kind": "status", "channel": "status", "message": "turn failed"}
STATUS = {"kind": "status", "channel": "status"}


def records(*lines: dict[str, Any], pipeline: Pipeline | None = None) -> list[dict[str, Any]]:
    """The events as they stand on the wire, without what all of them have."""
    pipeline = pipeline or codex_pipeline()
    stdout = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    events = [*pipeline.receive_data(stdout), *pipeline.receive_eof()]
    found = [json.loads(line) for line in encode_events(events).split(b"\n") if line]
    for seq, record in enumerate(found):
        assert (record.pop("type"), record.pop("seq"), record.pop("agent_kind")) == ("event", seq, "codex")
    return found


def item_line(phase: str, **item: Any) -> dict[str, Any]:
    return {"type": f"item.{phase}", "item": {"id": "item_0", **item}}


def text(item_type: str, phase: str, words: str) -> dict[str, Any]:
    facet = {"schema": "codex_adapter.text.v1", "item_id": "item_0", "item_type": item_type, "phase": phase}
    return {"kind": "text_output", "channel": "assistant", "text": words, "data": {**facet, "part": 1, "parts": 1}}


def error(message: str, source: str) -> dict[str, Any]:
    data = {"schema": "codex_adapter.error.v1", "source": source}
    return {"kind": "error", "channel": "error", "message": message, "data": data}


@pytest.mark.rule("M0", "M1")
def test_turns_and_threads_are_statuses_without_a_text() -> None:
    assert records({"type": "turn.started"}) == [STATUS]
    assert records({"type": "turn.completed"}) == [STATUS]
    assert records({"type": "turn.completed", "usage": None}) == [STATUS]
    assert records({"type": "turn.failed"}) == [TURN_FAILED]


@pytest.mark.rule("M0", "M1")
@rows("said", [None, "boom", {"message": "boom"}, {}, [1], 7])
def test_what_the_cli_says_of_a_failed_turn_is_not_told_twice(said: Any) -> None:
    assert records({"type": "turn.failed", "error": said}) == [TURN_FAILED]


@pytest.mark.rule("M0", "M1", "M8")
def test_an_error_line_and_an_error_item_are_errors_and_tell_where_from() -> None:
    assert records({"type": "error", "message": "Reconnecting... 1/5"}) == [error("Reconnecting... 1/5", "event")]
    for phase in ("started", "updated", "completed"):
        assert records(item_line(phase, type="error", message="careful")) == [error("careful", "item")]
    assert records({"type": "error", "message": ""}) == [error("", "event")]


@pytest.mark.rule("M8", "X2")
def test_an_error_of_the_adapter_itself_has_no_data() -> None:
    message = "codex stream normalize error (redacted): missing field type (line_bytes=2)"
    assert records({}) == [{"kind": "error", "channel": "error", "message": message}]


@pytest.mark.rule("M0", "M2", "M4")
@pytest.mark.parametrize("item_type", ["agent_message", "reasoning"])
def test_each_form_of_a_text_item_gives_its_whole_text(item_type: str) -> None:
    lines = [
        item_line(phase, type=item_type, text=words)
        for phase, words in (("started", ""), ("updated", "one"), ("completed", "one two"))
    ]
    assert records(*lines) == [
        text(item_type, "start", ""),
        text(item_type, "snapshot", "one"),
        text(item_type, "complete", "one two"),
    ]


@pytest.mark.rule("M0", "M2", "M4")
def test_a_delta_gives_its_fragment_alone() -> None:
    fragments = [item_line("delta", type="agent_message", delta=words) for words in ("one ", "two")]
    assert records(*fragments) == [text("agent_message", "delta", "one "), text("agent_message", "delta", "two")]


@pytest.mark.rule("M0")
@rows(
    ("item", "line_error", "message"),
    [
        ({"type": "agent_message", "text": "half"}, {"message": "boom"}, "boom"),
        ({"type": "agent_message", "text": "half"}, "boom", "boom"),
        ({"type": "agent_message"}, {"message": "boom"}, "boom"),
        ({"type": "agent_message", "text": "half"}, None, "agent_message failed"),
        ({"type": "reasoning", "text": "half"}, {"message": 5}, "reasoning failed"),
        ({"type": "todo_list", "items": []}, {}, "todo_list failed"),
        ({"type": "error", "message": "careful"}, None, "careful"),
        ({"type": "error", "message": "careful"}, {"message": "boom"}, "boom"),
        ({}, {"message": "boom"}, "boom"),
    ],
    ids=str,
)
def test_any_failed_item_that_is_no_tool_is_an_error(item: dict[str, Any], line_error: Any, message: str) -> None:
    assert records({**item_line("failed", **item), "error": line_error}) == [error(message, "item")]


@pytest.mark.rule("M0", "M6")
@pytest.mark.parametrize("phase", ["started", "updated", "completed"])
def test_a_todo_list_is_a_status_with_the_whole_plan(phase: str) -> None:
    steps = [{"text": "one", "completed": True}, {"text": "two", "completed": False}]
    plan = {"schema": "codex_adapter.plan.v1", "items": steps}
    assert records(item_line(phase, type="todo_list", items=steps)) == [{**STATUS, "data": plan}]
    lazy = [{"text": "one", "completed": True}, {"text": "two"}]
    assert records(item_line(phase, type="todo_list", items=lazy)) == [{**STATUS, "data": plan}]


@pytest.mark.rule("M6")
def test_the_usage_facet_has_the_integers_of_the_cli_and_nothing_else() -> None:
    counted = {"input_tokens": 100, "cached_input_tokens": 0, "tomorrow_tokens": -1, "most": 2**63 - 1}
    other: dict[str, Any] = {"a": "7", "b": 1.5, "c": None, "d": True, "e": [1], "f": {"g": 1}, "h": 2**63, "i": 10**40}
    assert records({"type": "turn.completed", "usage": {**counted, **other}}) == [
        {**STATUS, "data": {"schema": "codex_adapter.usage.v1", "usage": counted}}
    ]


@pytest.mark.rule("M6", "X5")
def test_the_names_in_a_usage_are_bounded_and_masked_too() -> None:
    pipeline = codex_pipeline(secrets=("correct-horse-battery",))
    usage = {"x" * 100_000: 1, "correct-horse-battery": 2, "input_tokens": 3}
    written = json.dumps(records({"type": "turn.completed", "usage": usage}, pipeline=pipeline))
    assert "correct-horse-battery" not in written
    assert "correct-horse-battery" not in json.dumps(pipeline.state.usage)
    assert len(json.dumps(pipeline.state.usage)) < 65_536


@pytest.mark.rule("M0", "T4")
@rows(
    ("line", "line_type", "item_type"),
    [
        ({"type": "turn.paused", "secret": "canary"}, "turn.paused", None),
        ({"type": "item.started", "item": {"type": "image_view", "path": "canary"}}, "item.started", "image_view"),
        ({"type": "item.moved", "item_type": "image", "x": "canary"}, "item.moved", "image"),
        ({"type": "a" * 64}, "a" * 64, None),
        ({"type": "a" * 65 + "canary"}, "a" * 64, None),
        ({"type": "Az09_.-/canary"}, "Az09_.-", None),
        ({"type": " canary"}, None, None),
        ({"type": ""}, None, None),
        ({"type": "\u00e9canary"}, None, None),
        ({"type": "item.started", "item": {"type": "x y"}}, "item.started", "x"),
    ],
    ids=str,
)
def test_of_an_unknown_line_only_the_plain_beginning_of_its_names_is_told(
    line: dict[str, Any], line_type: str | None, item_type: str | None
) -> None:
    data = {"schema": "codex_adapter.unknown.v1", "type": line_type, "item_type": item_type}
    assert records(line) == [{"kind": "unknown", "data": data}]


def closes(record: dict[str, Any]) -> bool:
    """Whether an event closes a call that the CLI has left open."""
    data = record.get("data") or {}
    return bool(record["kind"] == "tool_result" and data["tool"]["status"] == "unknown")


@pytest.mark.rule("M0", "B6")
@each_recording("codex")
def test_one_line_gives_one_event(recording: Path, returncode: int) -> None:
    lines = [json.loads(line) for line in recording.read_bytes().split(b"\n") if line]
    found = [record for record in records(*lines) if not closes(record)]
    assert len(found) == len(lines)
    for line, record in zip(lines, found, strict=True):
        assert record["kind"] == kind_of(line)
    assert returncode is not None


def kind_of(line: dict[str, Any]) -> str:
    if not line["type"].startswith("item."):
        return "error" if line["type"] == "error" else "status"
    item_type = line["item"]["type"]
    if item_type in ("agent_message", "reasoning"):
        return "text_output"
    if item_type in ("error", "todo_list"):
        return {"error": "error", "todo_list": "status"}[item_type]
    return "tool_result" if line["type"] == "item.completed" else "tool_call"


SOME_TEXT = st.text(max_size=4)
SOME_LINES = st.one_of(
    st.builds(lambda thread_id: {"type": "thread.started", "thread_id": thread_id}, SOME_TEXT),
    st.builds(
        lambda kind: {"type": kind}, st.sampled_from(["turn.started", "turn.completed", "turn.failed", "x", "error"])
    ),
    st.builds(
        lambda phase, item_type, words: item_line(phase, type=item_type, text=words, message=words, items=[]),
        st.sampled_from(["started", "updated", "completed", "failed", "delta", "created"]),
        st.sampled_from(["agent_message", "reasoning", "error", "todo_list", "web_search", "mcp_tool_call", "y"]),
        SOME_TEXT,
    ),
    st.just(item_line("started", type="command_execution", command="ls")),
)


@pytest.mark.rule("M0", "M1", "M5")
@given(st.lists(SOME_LINES, max_size=12))
def test_every_event_has_what_its_kind_has_and_nothing_else(lines: list[dict[str, Any]]) -> None:
    found = [record for record in records(*lines) if not closes(record)]
    handles = [one for one in found if (one.get("data") or {}).get("schema") == "agent_api.session.handle.v1"]
    assert len(handles) <= 1
    assert len(lines) <= len(found) <= len(lines) + 1
    fields = {
        "text_output": {"text", "data"},
        "error": {"message"},
        "status": set[str](),
        "tool_call": {"data"},
        "tool_result": {"data"},
        "unknown": {"data"},
    }
    may_have = {"error": {"data"}, "status": {"message", "data"}}
    channels = {"text_output": "assistant", "tool_call": "tool", "tool_result": "tool", "unknown": None}
    for record in found:
        kind = record.pop("kind")
        assert record.pop("channel", None) == channels.get(kind, kind)
        assert fields[kind] <= record.keys() <= fields[kind] | may_have.get(kind, set())
