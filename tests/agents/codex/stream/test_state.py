"""Test the state of a run and the completion that results from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.events import ExitStatus

from ....rows import rows

OK, FAILED, KILLED = ExitStatus(code=0), ExitStatus(code=1), ExitStatus(signal="SIGKILL")
STARTED = {"type": "turn.started"}
COMPLETED = {"type": "turn.completed"}
TURN_FAILED = {"type": "turn.failed", "error": {"message": "boom"}}


def item(phase: str, item_id: str = "a", item_type: str = "command_execution", **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{phase}", "item": {"id": item_id, "type": item_type, **fields}}


def message(text: str, phase: str = "completed", item_type: str = "agent_message") -> dict[str, Any]:
    return item(phase, item_type=item_type, text=text)


def used(tokens: int) -> dict[str, Any]:
    return {**COMPLETED, "usage": {"input_tokens": tokens}}


def after(*lines: dict[str, Any] | bytes) -> Pipeline:
    pipeline = codex_pipeline()
    for line in lines:
        pipeline.receive_data((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
    return pipeline


@pytest.mark.rule("F2")
@rows(
    ("lines", "final_text"),
    [
        ([], None),
        ([message("one"), message("two")], "two"),
        ([message("one"), message("")], ""),
        ([message("one"), message("two", "started"), message("three", "updated")], "one"),
        ([message("one"), message("two", "failed")], "one"),
        ([message("one"), message("two", "delta")], "one"),
        ([message("one"), item("completed", item_type="agent_message", text_delta="fragment")], "one"),
        ([message("one"), message("thought", item_type="reasoning")], "one"),
        ([message("thought", item_type="reasoning")], None),
        ([message("one"), item("completed"), item("completed", item_type="error", message="careful")], "one"),
        ([message("one"), STARTED, COMPLETED], "one"),
        ([message("one"), {"type": "error", "message": "Reconnecting... 1/5"}, message("one")], "one"),
        ([{"type": "item.completed", "item_type": "assistant_message", "item_id": "a", "content": "old"}], "old"),
    ],
    ids=str,
)
def test_the_final_text_is_that_of_the_last_completed_message(
    lines: list[dict[str, Any]], final_text: str | None
) -> None:
    assert after(*lines).completion(OK).final_text == final_text


@pytest.mark.rule("F3")
@pytest.mark.parametrize("status", [FAILED, KILLED, ExitStatus(code=101)])
def test_a_run_that_failed_has_no_final_text(status: ExitStatus) -> None:
    completion = after(message("one"), used(7)).completion(status)
    assert (completion.final_text, completion.status) == (None, status)
    assert (completion.turn, completion.usage) == ("completed", {"input_tokens": 7})


@pytest.mark.rule("K6")
@pytest.mark.parametrize("status", [OK, FAILED, KILLED])
def test_an_agent_that_was_ended_after_a_completed_turn_keeps_its_final_text(status: ExitStatus) -> None:
    completion = after(STARTED, message("one"), COMPLETED).completion(status, lingered=True)
    assert (completion.final_text, completion.status) == ("one", status)


@pytest.mark.rule("K6")
@pytest.mark.parametrize("lines", [[STARTED, message("one")], [STARTED, message("one"), TURN_FAILED], [message("one")]])
def test_an_agent_that_was_ended_in_any_other_turn_has_none(lines: list[dict[str, Any]]) -> None:
    assert after(*lines).completion(KILLED, lingered=True).final_text is None


@pytest.mark.rule("F2")
@rows(
    ("lines", "turn"),
    [
        ([], None),
        ([{"type": "thread.started", "thread_id": "T"}], None),
        ([message("one")], None),
        ([STARTED], "cut_off"),
        ([STARTED, message("one"), {"type": "error", "message": "m"}], "cut_off"),
        ([STARTED, COMPLETED], "completed"),
        ([COMPLETED], "completed"),
        ([STARTED, TURN_FAILED], "failed"),
        ([STARTED, TURN_FAILED, STARTED, COMPLETED], "completed"),
        ([STARTED, COMPLETED, STARTED], "cut_off"),
        ([STARTED, STARTED, COMPLETED], "completed"),
    ],
    ids=str,
)
def test_the_turn_is_told_as_the_last_one_ended(lines: list[dict[str, Any]], turn: str | None) -> None:
    assert after(*lines).completion(OK).turn == turn


@pytest.mark.rule("F2")
@rows(
    ("lines", "usage"),
    [
        ([STARTED], None),
        ([COMPLETED], None),
        ([used(1)], {"input_tokens": 1}),
        ([used(1), used(2)], {"input_tokens": 2}),
        ([used(1), STARTED, TURN_FAILED], {"input_tokens": 1}),
        ([used(1), STARTED, COMPLETED], None),
        ([{**COMPLETED, "usage": {}}], {}),
    ],
    ids=str,
)
def test_the_usage_is_that_of_the_last_completed_turn(
    lines: list[dict[str, Any]], usage: dict[str, int] | None
) -> None:
    assert after(*lines).completion(OK).usage == usage


@pytest.mark.rule("F2")
def test_the_completion_has_the_session_and_no_data() -> None:
    completion = after({"type": "thread.started", "thread_id": "T"}).completion(OK)
    assert (completion.session_id, completion.data) == ("T", None)
    assert after(STARTED).completion(OK).session_id is None


@pytest.mark.rule("K2")
@rows(
    ("lines", "still_open"),
    [
        ([item("started", "a"), item("started", "b")], ["a", "b"]),
        ([item("started", "a"), item("started", "b"), item("completed", "a")], ["b"]),
        ([item("started", "a"), item("failed", "a")], []),
        ([item("started", "a"), item("started", "a"), item("completed", "a")], []),
        ([item("updated", "a")], ["a"]),
        ([item("completed", "a")], []),
        ([item("started", "w", "web_search"), item("started", "m", "mcp_tool_call")], ["w", "m"]),
        ([item("started", "t", "todo_list", items=[]), message("one", "started")], []),
        ([item("started", "a"), COMPLETED], []),
        ([item("started", "a"), TURN_FAILED], []),
        ([item("started", "a"), {"type": "error", "message": "Reconnecting... 1/5"}], ["a"]),
    ],
    ids=str,
)
def test_a_tool_call_is_open_until_its_result_or_its_turns_end(
    lines: list[dict[str, Any]], still_open: list[str]
) -> None:
    assert list(after(STARTED, *lines).state.open_tools) == still_open


@pytest.mark.rule("K2")
@rows(
    ("line", "progress"),
    [
        (STARTED, True),
        (item("started"), True),
        (message("one"), True),
        ({"type": "tomorrow"}, True),
        (item("completed", item_type="error", message="careful"), True),
        ({"type": "error", "message": "Reconnecting... 1/5"}, False),
        (b"no json", False),
        (b"{}", False),
        (b" ", False),
        (b"", False),
    ],
    ids=str,
)
def test_notices_and_bad_lines_are_no_progress(line: dict[str, Any] | bytes, progress: bool) -> None:
    facts = after(line).state
    assert facts.take_progress() == progress
    assert not facts.take_progress()


@pytest.mark.rule("K2")
def test_one_line_of_progress_among_notices_is_progress() -> None:
    notice = {"type": "error", "message": "Reconnecting... 1/5"}
    pipeline = after(notice, notice, b"{", STARTED, notice)
    assert pipeline.state.take_progress()
    assert not pipeline.state.take_progress()
    pipeline.receive_data(b'{"type":"turn.started"}\n')
    assert pipeline.state.take_progress()


@pytest.mark.rule("K2", "L2")
def test_a_line_that_is_too_long_is_no_progress() -> None:
    pipeline = codex_pipeline(max_line_bytes=10)
    pipeline.receive_data(b"x" * 20)
    assert not pipeline.state.take_progress()
    pipeline.receive_data(b"\n")
    assert not pipeline.state.take_progress()


@pytest.mark.rule("K2")
@pytest.mark.fault(
    "stream",
    "An agent starts tool calls without end and completes none",
    "The adapter tracks the first 1,024 calls, and memory stays constant",
)
def test_no_more_open_calls_are_remembered_than_an_agent_can_have() -> None:
    facts = after(*(item("started", f"call {number}") for number in range(3_000))).state
    assert list(facts.open_tools) == [f"call {number}" for number in range(1_024)]
