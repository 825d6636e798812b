"""Test tool calls that continue in the background, those of sub-agents, and the plan that calls change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter import Event
from codex_adapter.agents.claude.stream.decoder import ClaudeDecoder
from codex_adapter.core.masking.masker import Masker
from codex_adapter.events import Plan, PlanItem, TextPart, ToolBytes

from ....rows import rows
from .stream_lines import DONE, INIT, answered, run, system, tools, use

BACKGROUND = {"backgroundTaskId": "b"}


def ended(status: str, summary: str = "", use_id: str | None = "t") -> dict[str, Any]:
    return system("task_notification", tool_use_id=use_id, status=status, summary=summary)


@pytest.mark.rule("M15")
@rows(
    ("status", "summary", "result"),
    [
        ("completed", 'Background command "x" completed (exit code 0)', ("complete", "completed", 0)),
        ("failed", 'Background command "x" failed with exit code 3', ("fail", "failed", 3)),
        ("stopped", "x completed (exit code 5)", ("fail", "failed", None)),
        ("killed", "", ("fail", "failed", None)),
        ("completed", "x", ("complete", "completed", None)),
        ("new", "x", ("complete", "unknown", None)),
    ],
)
def test_a_command_in_the_background_gets_its_one_result_at_its_end(status: str, summary: str, result: Any) -> None:
    lines = [INIT, use("Bash", command="x"), answered("t", "started", known=BACKGROUND), DONE, ended(status, summary)]
    events, _ = run(*lines, ended(status, summary))
    assert [event.kind for event in events] == ["status", "tool_call", "tool_call", "status", "tool_result"]
    start, running, end = tools(events)
    assert (start.phase, running.phase, running.status, running.exit_code) == ("start", "delta", "running", None)
    assert (end.phase, end.status, end.exit_code) == result
    assert (end.backend_item_id, end.kind, end.bytes) == ("t", "command_execution", ToolBytes())


@pytest.mark.rule("M15")
def test_an_end_before_the_result_of_the_call_is_its_result() -> None:
    for known in (BACKGROUND, {"isAsync": True}):
        events, _ = run(INIT, use("Bash"), ended("failed", "x failed with exit code 3"), answered("t", known=known))
        assert [event.kind for event in events] == ["status", "tool_call", "tool_result"]
        assert (tools(events)[1].status, tools(events)[1].exit_code) == ("failed", 3)


@pytest.mark.rule("M15")
def test_the_end_of_a_task_in_the_foreground_changes_nothing() -> None:
    events, _ = run(
        INIT, use("Agent"), ended("completed"), answered("t", "ok"), ended("completed"), ended("x", "", None)
    )
    assert [event.kind for event in events] == ["status", "tool_call", "tool_result"]
    assert (tools(events)[1].kind, tools(events)[1].exit_code) == ("collab_tool_call", None)


@pytest.mark.rule("M15")
def test_a_call_in_the_background_without_an_end_is_closed_at_the_end_of_the_stream() -> None:
    events, _ = run(INIT, use("Bash"), use("Bash", "u"), answered("t", known=BACKGROUND), DONE)
    kinds = [event.kind for event in events]
    assert kinds == ["status", "tool_call", "tool_call", "tool_call", "tool_result", "status", "tool_result"]
    assert [(tool.backend_item_id, tool.status) for tool in tools(events)[3:]] == [("u", "unknown"), ("t", "unknown")]


@pytest.mark.rule("M9", "M15")
def test_a_call_of_a_sub_agent_in_the_background_stays_open_at_the_end_of_the_turn() -> None:
    inner, result = ({**line, "parent_tool_use_id": "t"} for line in (use("Bash", "u"), answered("u", "ok")))
    events, _ = run(INIT, use("Agent"), answered("t", known={"isAsync": True}), inner, DONE, result, ended("completed"))
    assert [tool.backend_item_id for tool in tools(events)] == ["t", "t", "u", "u", "t"]
    assert [tool.status for tool in tools(events)][3:] == ["completed", "completed"]


@pytest.mark.rule("M15")
def test_a_result_in_the_background_without_its_call_is_passed_on() -> None:
    events, _ = run(INIT, answered("t", known=BACKGROUND))
    assert (events[1].kind, tools(events)[0].status) == ("tool_result", "running")


@pytest.mark.rule("K2", "M15")
def test_a_call_in_the_background_does_not_count_for_limits() -> None:
    decoder = ClaudeDecoder(Masker())
    lines = [use("Bash"), use("Bash", "u")]
    for line in lines:
        decoder.decode([_line(line)])
    assert set(decoder.state.limited_tools) == {"t", "u"}
    decoder.decode([_line(answered("t", known=BACKGROUND))])
    assert set(decoder.state.limited_tools) == {"u"}
    assert set(decoder.state.open_tools) == {"t", "u"}
    assert len(decoder.close_tools().events) == 2
    assert not decoder.state.limited_tools


def _line(line: Any) -> bytes:
    return json.dumps(line).encode()


@pytest.mark.rule("M15", "M7")
def test_the_first_output_of_a_call_in_the_background_is_in_its_event() -> None:
    events, _ = run(INIT, use("Bash"), answered("t", "begun", known=BACKGROUND), full=True)
    data: Any = events[2].data
    assert data.output.aggregated_output.text == "begun"


@pytest.mark.rule("M11")
def test_the_lines_of_a_sub_agent_have_its_parent() -> None:
    text = {"type": "text", "text": "Found."}
    message = {"type": "assistant", "message": {"id": "m", "content": [text]}, "parent_tool_use_id": "t"}
    delta = {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "F"}}
    part = {"type": "stream_event", "event": delta, "parent_tool_use_id": "t"}
    lines = [use("Agent"), use("Bash", "u", "t"), part, message, answered("u", "x", "t"), answered("t", "ok")]
    events, completion = run(INIT, *lines, {**DONE, "result": None})
    assert [tool.parent_id for tool in tools(events)] == [None, "t", "t", None]
    assert [event.data for event in events if event.text] == [
        TextPart("m#1", "agent_message", "delta", parent_id="t"),
        TextPart("m#1", "agent_message", "complete", parent_id="t"),
    ]
    assert completion.final_text is None


@pytest.mark.rule("M9", "M11")
def test_a_call_of_a_sub_agent_is_closed_with_its_parent() -> None:
    events, _ = run(INIT, use("Bash", "u", "t"))
    assert [(tool.parent_id, tool.status) for tool in tools(events)] == [("t", "running"), ("t", "unknown")]


def plans(*lines: Any, **more: Any) -> list[tuple[PlanItem, ...]]:
    return [event.data.items for event in run(INIT, *lines, **more)[0] if isinstance(event.data, Plan)]


def step(text: str, status: Any = "pending") -> PlanItem:
    return PlanItem(text, status == "completed", status)


def created(number: str, subject: str) -> list[Any]:
    return [use("TaskCreate"), answered("t", known={"task": {"id": number, "subject": subject}})]


def updated(number: str, to: str | None = None, **arguments: Any) -> list[Any]:
    change = None if to is None else {"from": "pending", "to": to}
    known = {"success": True, "taskId": number, "statusChange": change}
    return [use("TaskUpdate", taskId=number, **arguments), answered("t", known=known)]


@pytest.mark.rule("M6")
def test_a_whole_plan_is_reported_when_its_call_succeeded() -> None:
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}, {"content": "c"}]
    steps = (step("a", "completed"), step("b", "in_progress"), step("c"))
    assert plans(use("TodoWrite", todos=todos), answered("t")) == [steps]
    assert plans(use("TodoWrite", todos=todos), answered("t", "disabled", is_error=True)) == []
    assert plans(use("TodoWrite", todos=[7]), answered("t")) == []
    assert plans(use("TodoWrite", "t", "parent", todos=todos), answered("t", thread="parent")) == []
    assert plans(answered("t")) == []


@pytest.mark.rule("M6")
def test_a_plan_is_kept_from_changes_of_single_tasks() -> None:
    lines = [*created("1", "one"), *created("2", "two"), *updated("1", "completed"), *updated("2", subject="more")]
    assert plans(*lines, *updated("1", "deleted"), *updated("2", "new")) == [
        (step("one"),),
        (step("one"), step("two")),
        (step("one", "completed"), step("two")),
        (step("one", "completed"), step("more")),
        (step("more"),),
        (step("more"),),
    ]


@pytest.mark.rule("M6")
def test_the_plan_of_a_resumed_session_is_unknown_until_it_is_listed() -> None:
    listed = {"tasks": [{"id": "1", "subject": "one", "status": "completed"}, {"id": "7", "subject": "seven"}]}
    task_list = [use("TaskList"), answered("t", known=listed)]
    assert plans(*created("7", "seven"), *task_list) == [(step("one", "completed"), step("seven"))]
    assert plans(*created("1", "one"), *updated("5", "completed")) == [(step("one"),)]


@pytest.mark.rule("M6")
def test_what_does_not_change_the_plan() -> None:
    failed = {"success": False, "taskId": "1", "error": "Task not found"}
    for known in (failed, {}, "text", {"task": 7}, None):
        lines = [*created("1", "one"), use("TaskUpdate", taskId="1"), answered("t", known=known)]
        assert plans(*lines) == [(step("one"),)]


@pytest.mark.rule("M6", "X5")
def test_the_texts_of_a_plan_are_masked_and_bounded() -> None:
    secret = "canary-of-the-plan-Zr8v"
    (steps,) = plans(*created("1", f"{secret} " + "x" * 5_000), secrets=(secret,))
    assert secret not in steps[0].text
    assert len(steps[0].text) <= 1_024
    many: list[Any] = []
    for number in range(1, 300):
        many += created(str(number), "x")
    assert max(map(len, plans(*many))) == 256
    calls = [use("TodoWrite", f"t{number}", todos=[]) for number in range(70)]
    assert len(plans(*calls, *(answered(f"t{number}") for number in range(70)))) == 64


@pytest.mark.rule("M2", "AG7")
def test_answers_for_an_output_schema_are_remembered_in_bounded_memory() -> None:
    answers = [use("StructuredOutput", f"a{number}", n=number) for number in range(65)]
    events, _ = run(INIT, *answers, answered("a64", "ok"), answered("a0", "ok"))
    assert [event.kind for event in events if event.kind != "status"] == ["tool_result"]


@pytest.mark.rule("M9")
def test_events_without_a_tool_are_not_results() -> None:
    events, _ = run(INIT, use("Agent"), system("task_started", tool_use_id="t"), system("task_progress"))
    assert [type(event) for event in events] == [Event, Event, Event]
