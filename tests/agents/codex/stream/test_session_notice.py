"""Test that the session id appears once, in the first status event that can carry it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.events import Event, SessionHandle, ToolCall

STARTED = {"type": "turn.started"}
ITEM = {"type": "item.completed", "item": {"id": "a", "type": "agent_message", "text": "t"}}
USED = {"type": "turn.completed", "usage": {"input_tokens": 1}}
FAILED = {"type": "turn.failed"}
PLAN = {"type": "item.started", "item": {"id": "p", "type": "todo_list", "items": []}}
LONG = "\u00e9" * 512 + "x"
"""An id of 1,025 bytes in 513 characters."""
NOTICE = "session handle id oversize: len_bytes=1025"


def thread(thread_id: str) -> dict[str, Any]:
    return {"type": "thread.started", "thread_id": thread_id}


def run(*lines: dict[str, Any]) -> tuple[Pipeline, list[Event]]:
    pipeline = codex_pipeline()
    events: list[Event] = []
    for line in lines:
        events += pipeline.receive_data(json.dumps(line).encode() + b"\n")
    return pipeline, events + pipeline.receive_eof()


def told(*lines: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    """Kind, message and session id of each event."""
    _, events = run(*lines)
    assert [event.seq for event in events] == list(range(len(events)))
    return [
        (event.kind, event.message, event.data.session.id if isinstance(event.data, SessionHandle) else None)
        for event in events
    ]


@pytest.mark.rule("M5")
def test_the_id_stands_on_the_event_of_the_threads_start() -> None:
    assert told(thread("T"), STARTED, USED) == [("status", None, "T"), ("status", None, None), ("status", None, None)]


@pytest.mark.rule("M5")
def test_the_id_is_given_once_a_run() -> None:
    ids = [session for *_, session in told(thread("T"), thread("T"), {**STARTED, "thread_id": "T"}, thread("U"))]
    assert ids == ["T", None, None, None]


@pytest.mark.rule("M5")
def test_the_id_waits_for_a_status_event() -> None:
    assert told({**ITEM, "thread_id": "T"}, ITEM, STARTED, STARTED) == [
        ("text_output", None, None),
        ("text_output", None, None),
        ("status", None, "T"),
        ("status", None, None),
    ]


@pytest.mark.rule("M5")
def test_a_status_with_a_message_carries_the_id_too() -> None:
    assert told({**FAILED, "thread_id": "T"}) == [("status", "turn failed", "T")]


@pytest.mark.rule("M5")
@pytest.mark.parametrize("taken", [USED, PLAN])
def test_before_a_status_that_has_a_facet_the_id_has_an_event_of_its_own(taken: dict[str, Any]) -> None:
    assert told({**ITEM, "thread_id": "T"}, taken, STARTED) == [
        ("text_output", None, None),
        ("status", None, "T"),
        ("status", None, None),
        ("status", None, None),
    ]
    _, events = run({**taken, "thread_id": "T"})
    assert isinstance(events[0].data, SessionHandle)
    assert events[1].data is not None


@pytest.mark.rule("M5")
def test_without_a_status_event_the_id_comes_at_the_end() -> None:
    assert told({**ITEM, "thread_id": "T"}, ITEM) == [
        ("text_output", None, None),
        ("text_output", None, None),
        ("status", None, "T"),
    ]


@pytest.mark.rule("M5")
def test_without_an_id_there_is_no_handle() -> None:
    pipeline, events = run(STARTED, ITEM, USED)
    assert not any(isinstance(event.data, SessionHandle) for event in events)
    assert pipeline.session_id is None


@pytest.mark.rule("M5")
@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u2003"])
def test_a_blank_id_is_ignored(blank: str) -> None:
    assert told(thread(blank), STARTED) == [("status", None, None), ("status", None, None)]
    assert told(thread(blank), thread("T")) == [("status", None, None), ("status", None, "T")]


@pytest.mark.rule("M5")
def test_an_id_of_exactly_the_limit_is_an_id() -> None:
    assert told(thread(LONG[:-1])) == [("status", None, LONG[:-1])]


@pytest.mark.rule("M5")
def test_an_id_over_the_limit_gives_one_notice_and_is_not_known() -> None:
    assert told(thread(LONG), thread(LONG), STARTED) == [
        ("status", NOTICE, None),
        ("status", None, None),
        ("status", None, None),
    ]
    pipeline, events = run(thread(LONG))
    assert pipeline.session_id is None
    assert LONG not in repr(events)


@pytest.mark.rule("M5")
def test_a_valid_id_may_follow_one_over_the_limit() -> None:
    assert told(thread(LONG), thread("T")) == [("status", NOTICE, None), ("status", None, "T")]


@pytest.mark.rule("M5", "M0")
def test_a_notice_that_finds_no_status_event_is_one() -> None:
    assert told({**ITEM, "thread_id": LONG}) == [("status", NOTICE, None), ("text_output", None, None)]
    assert told({**FAILED, "thread_id": LONG}) == [("status", NOTICE, None), ("status", "turn failed", None)]


@pytest.mark.rule("M5")
def test_an_id_that_waits_goes_with_a_notice_that_comes_before_a_status_event() -> None:
    seen = {**ITEM, "thread_id": "T"}
    text = ("text_output", None, None)
    assert told(seen, {**STARTED, "thread_id": LONG}) == [text, ("status", NOTICE, "T")]
    assert told(seen, {**ITEM, "thread_id": LONG}) == [text, ("status", NOTICE, "T"), text]
    assert told(seen, {**USED, "thread_id": LONG}) == [text, ("status", NOTICE, "T"), ("status", None, None)]


@pytest.mark.rule("M5", "M6")
def test_a_notice_leaves_a_facet_where_it_is() -> None:
    _, (event,) = run({**USED, "thread_id": LONG})
    assert event.message == NOTICE
    assert event.data is not None


@pytest.mark.rule("M5")
def test_the_id_of_the_run_is_that_of_its_first_thread() -> None:
    pipeline, _ = run(thread("T"), thread("U"))
    assert pipeline.session_id == "T"


@pytest.mark.rule("M3", "T3")
@pytest.mark.parametrize("key", ["thread_id", "conversation_id"])
def test_a_tool_belongs_to_the_thread_that_its_line_names(key: str) -> None:
    call = {"type": "item.completed", "item": {"id": "c", "type": "command_execution"}}
    lines = [thread("T"), call, {**call, key: "T"}, {**call, key: "U"}, call, {**call, key: "T"}]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    threads = [
        event.data.tool.thread_id for event in codex_pipeline().receive_data(data) if isinstance(event.data, ToolCall)
    ]
    assert threads == ["T", "T", "U", "U", "T"]
