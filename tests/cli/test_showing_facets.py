"""Test how retries, limits, costs and sub-agents are shown to a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from codex_adapter import Completion, Event, ExitStatus, RunTimedOut
from codex_adapter.cli.present.file_narration import FileNarrator
from codex_adapter.cli.present.lines import Line
from codex_adapter.cli.present.run_narration import RunNarrator, call_label
from codex_adapter.cli.present.wording import cost, describe_limit, describe_retry, tokens
from codex_adapter.cli.view.index_text import index_lines
from codex_adapter.cli.view.journal_index import read_index
from codex_adapter.cli.view.page import page
from codex_adapter.cli.view.page_index import index_page
from codex_adapter.cli.view.record_reader import PlacedRecord
from codex_adapter.cli.view.timeline import RunTimeline
from codex_adapter.cli.view.timeline_model import Call, Note, Span
from codex_adapter.events import (
    TURN_FAILED,
    AgentInfo,
    ErrorSource,
    Facet,
    PayloadText,
    Plan,
    PlanItem,
    RateLimit,
    Retry,
    TextPart,
    TokenUsage,
    Tool,
    ToolBytes,
    ToolCall,
    ToolInput,
)
from codex_adapter.records import CompletedRecord, RunRecord, decode_record, encode_completion, encode_lines

from ..rows import rows

RETRY = Retry(1, 9, 0.6, 529, "overloaded")
NEAR = RateLimit("warning", "five_hour", 1_999_999_999, 0.93)
COMPLETION = Completion(ExitStatus(code=0), turn="completed", usage={"output_tokens": 2}, cost_usd=0.0315)


def status(facet: Facet | None = None, message: str | None = None) -> Event:
    return Event(0, "toy", "status", "status", None, message, facet)


def told(*events: Event) -> list[Line]:
    narrator = RunNarrator(lambda: None)
    return [line for event in events for line in narrator.narrate(event)]


@pytest.mark.rule("M12")
@pytest.mark.parametrize(
    ("retry", "text"),
    [
        (RETRY, "model request failed (HTTP 529): retry 1 of 9 in 0.6 s"),
        (Retry(), "model request failed: retry"),
        (Retry(2), "model request failed: retry 2"),
        (Retry(max_retries=3, delay=90), "model request failed: retry in 1 min 30 s"),
    ],
)
def test_a_retry_in_words(retry: Retry, text: str) -> None:
    assert describe_retry(retry) == text


@pytest.mark.rule("M13")
@rows(
    ("limit", "text"),
    [
        (NEAR, "limit five_hour: 93% used, resets at 2033-05-18 03:33 UTC"),
        (RateLimit("rejected", resets_at=10**15), "limit: reached"),
        (RateLimit("rejected", "seven_day", utilization=1.0), "limit seven_day: reached, 100% used"),
        (RateLimit("warning"), "limit: nearly reached"),
        (RateLimit("allowed", utilization=0.5), None),
        (RateLimit("unknown"), None),
    ],
)
def test_a_limit_in_words(limit: RateLimit, text: str | None) -> None:
    assert describe_limit(limit) == text


@pytest.mark.rule("F13")
@pytest.mark.parametrize(
    ("usd", "text"),
    [(0, "$0.00"), (0.00001, "< $0.0001"), (0.0315, "$0.0315"), (1, "$1.00"), (12_345.678, "$12,345.68")],
)
def test_a_cost_in_words(usd: float, text: str) -> None:
    assert cost(usd) == text


@pytest.mark.rule("C7", "M1", "M12", "M13", "M14")
def test_a_status_is_a_notice_and_what_a_person_must_know_is_a_warning() -> None:
    assert told(
        status(AgentInfo("2.1", "opus")),
        status(message="permission asked"),
        status(RETRY, "trying again"),
        status(NEAR, "limit"),
        status(RateLimit("allowed")),
        status(message=TURN_FAILED),
        Event(0, "toy", "error", "error", None, "odd", ErrorSource("item")),
        Event(0, "toy", "error", "error", None, "broken"),
    ) == [
        Line("notice", "release 2.1, model opus"),
        Line("notice", "permission asked"),
        Line("warning", "model request failed (HTTP 529): retry 1 of 9 in 0.6 s"),
        Line("warning", "limit five_hour: 93% used, resets at 2033-05-18 03:33 UTC"),
        Line("error", "turn failed"),
        Line("warning", "odd"),
        Line("error", "broken"),
    ]


@pytest.mark.rule("C7", "M6")
def test_a_step_in_progress_is_marked() -> None:
    items = (PlanItem("a", True, "completed"), PlanItem("b", False, "in_progress"), PlanItem("c", False, "pending"))
    assert [line.text for line in told(status(Plan(items)))] == ["[x] a", "[>] b", "[ ] c"]


@pytest.mark.rule("C7", "M11")
def test_a_sub_agent_is_named() -> None:
    tool = Tool("i", "s", None, "command_execution", "start", "running", None, ToolBytes(), "Bash", None, "call")
    part = TextPart("t", "agent_message", "complete", parent_id="call")
    assert told(
        Event(0, "toy", "tool_call", "tool", data=ToolCall(tool)),
        Event(0, "toy", "text_output", "assistant", "Found.", None, part),
    ) == [Line("started", "sub-agent: command_execution: Bash"), Line("thought", "sub-agent: Found.")]


@pytest.mark.rule("C7", "F13")
def test_the_cost_is_shown_at_the_end() -> None:
    texts = [line.text for line in RunNarrator(lambda: None).narrate(COMPLETION)]
    assert texts == ["tokens: 0 in, 2 out, 0 cached", "cost: $0.0315", "completed"]


@pytest.mark.rule("C7", "F10")
def test_the_tokens_are_those_of_the_run() -> None:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 5}
    for name, run_usage in (("cached_input_tokens", None), ("cache_read_input_tokens", {**usage, "input_tokens": 7})):
        completion = Completion(ExitStatus(code=0), None, None, None, "completed", {**usage, name: 5}, run_usage)
        text = RunNarrator(lambda: None).narrate(completion)[0].text
        assert text == f"tokens: {7 if run_usage else 1} in, 0 out, 5 cached"


@pytest.mark.rule("C7", "C10", "C21", "F15")
def test_what_a_run_without_a_completed_turn_has_used_is_shown_as_a_lower_bound(tmp_path: Path) -> None:
    timed_out = RunTimedOut("timeout")
    timed_out.run_usage, timed_out.cost_usd = {"input": 7}, 0.5
    cut_off = Completion(ExitStatus(code=0), turn="cut_off", run_usage={"input": 7}, cost_usd=0.5)
    outcomes: tuple[Completion | RunTimedOut, ...] = (timed_out, cut_off)
    for place, outcome in enumerate(outcomes):
        texts = [line.text for line in RunNarrator(lambda: None).narrate(outcome)]
        assert texts[:2] == ["tokens: at least 7 in, 0 out, 0 cached", "cost: at least $0.5000"]
        file = tmp_path / f"{place}.jsonl"
        file.write_bytes(encode_lines([RunRecord(run_id="r")]) + encode_completion(0, outcome))
        record = decode_record(encode_completion(0, outcome))
        assert not isinstance(record, Event)
        narrated = FileNarrator().narrate(PlacedRecord(record, None, True, 0, None))
        assert [line.text for line in narrated[:2]] == texts[:2]
        run = RunTimeline()
        run.add(PlacedRecord(record, None, True, 0, None))
        shown = page([run]).decode()
        assert ("at least 7 in, 0 out" in shown, "at least $0.5000" in shown) == (True, True)
    assert [(row.usage, row.cost_usd) for row in read_index(str(tmp_path)).rows] == [({"input": 7}, 0.5)] * 2


@pytest.mark.rule("C7")
@pytest.mark.parametrize("empty", [None, ToolInput()])
def test_a_result_without_an_input_has_the_label_of_its_call(empty: ToolInput | None) -> None:
    tool = Tool("i", "s", None, "command_execution", "start", "running", None, ToolBytes(), "Bash")
    asked = ToolInput(command=PayloadText("ls", False))
    done = replace(tool, phase="fail", status="failed", exit_code=3)
    lines = told(
        Event(0, "toy", "tool_call", "tool", data=ToolCall(tool, asked)),
        Event(0, "toy", "tool_call", "tool", data=ToolCall(replace(tool, phase="delta"))),
        Event(0, "toy", "tool_result", "tool", data=ToolCall(done, empty)),
    )
    assert lines == [Line("started", "$ ls"), Line("failed", "$ ls (failed, exit 3)")]
    call = Call(ToolCall(tool, asked), ToolCall(done, empty), Span(0, None), started=True)
    assert call_label(call.described) == "$ ls"


@pytest.mark.rule("C7")
@rows(
    ("kind", "name", "asked", "label"),
    [
        ("file_change", "Write", {"changes": '{"file_path":"/a/b","content":"x"}'}, "files: /a/b"),
        ("file_change", "edit", {"changes": '{"path":"b","edits":[]}'}, "files: b"),
        ("file_change", "edit", {"changes": '{"path":1}'}, 'files: {"path":1}'),
        ("file_change", "edit", {"changes": "cut {"}, "files: cut {"),
        ("file_change", None, {"changes": '[{"path":"c","kind":"add"}]'}, "files: add c"),
        ("search", "Grep", {"query": '{"pattern":"x.y","path":"/a"}'}, "search: x.y"),
        ("web_search", None, {"query": "plain words"}, "search: plain words"),
        ("file_read", "Read", {"tool": "Read", "arguments": '{"file_path":"/a\\nb"}'}, "file_read: Read /a"),
        ("mcp_tool_call", "add", {"server": "s", "tool": "add", "arguments": '{"a":1}'}, "mcp_tool_call: add"),
        ("other", "TaskList", {}, "other: TaskList"),
        ("other", None, {}, "other"),
    ],
)
def test_the_label_of_a_call_names_its_files(kind: str, name: str | None, asked: dict[str, str], label: str) -> None:
    tool = Tool("i", "s", None, kind, "start", "running", None, ToolBytes(), name)
    call = ToolCall(tool, ToolInput(**{field: PayloadText(text, False) for field, text in asked.items()}))
    assert call_label(call).startswith(label)


@pytest.mark.rule("C10", "M12", "M13", "M14", "F13")
def test_a_page_has_notes_a_cost_and_the_state_of_each_step() -> None:
    run = RunTimeline()
    facets: list[Facet] = [AgentInfo("2.1", "opus"), RETRY, NEAR, RateLimit("allowed")]
    plan = Plan((PlanItem("b", False, "in_progress"),))
    events = [status(), *(status(facet) for facet in facets), status(plan), status(message="permission asked")]
    for seq, event in enumerate([*events, status(TokenUsage({"output_tokens": 2}, 0.0315))]):
        numbered = Event(seq, "toy", "status", "status", None, event.message, event.data)
        run.add(PlacedRecord(numbered, None, seq == 0, 0, None))
    run.add(PlacedRecord(CompletedRecord(len(events) + 1, COMPLETION), None, False, 0, None))
    assert [(turn.outcome, len(turn.entries)) for turn in run.turns] == [("completed", 4)]
    assert [(note.level, note.text) for note in run.turns[0].entries if isinstance(note, Note)] == [
        ("notice", "release 2.1, model opus"),
        ("warning", "model request failed (HTTP 529): retry 1 of 9 in 0.6 s"),
        ("warning", "limit five_hour: 93% used, resets at 2033-05-18 03:33 UTC"),
        ("notice", "permission asked"),
    ]
    shown = page([run]).decode()
    assert "$0.0315" in shown
    assert "in progress" in shown


@pytest.mark.rule("C21", "F13")
def test_the_index_has_the_costs(tmp_path: Path) -> None:
    asked = encode_lines([RunRecord(run_id="r", agent_kind="toy")])
    (tmp_path / "r.jsonl").write_bytes(asked + encode_completion(0, COMPLETION))
    index = read_index(str(tmp_path))
    assert [row.cost_usd for row in index.rows] == [0.0315]
    table = [line.text for line in index_lines(index, None)]
    assert ("COST" in table[0], "$0.0315" in table[1]) == (True, True)
    assert "$0.0315" in index_page(index, [], lambda _: None).decode()


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        ({"input_tokens": 12_300, "output_tokens": 4, "input": 1}, "12,300 in, 4 out"),
        ({"input": 12_300, "output": 4}, "12,300 in, 4 out"),
        ({}, "0 in, 0 out"),
    ],
)
def test_tokens_are_shown_by_whichever_name_the_agent_gives_them(usage: dict[str, int], text: str) -> None:
    assert tokens(usage) == text
