"""Test each kind of line that the decoder knows, and lines that it does not."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter import Completion, Event, Pipeline
from codex_adapter.agents.pi.stream.decoder import PiDecoder
from codex_adapter.agents.pi.stream.lines import Known
from codex_adapter.core.masking.masker import Masker
from codex_adapter.events import (
    AgentInfo,
    ErrorSource,
    ExitStatus,
    PayloadText,
    Retry,
    SessionHandle,
    TextPart,
    TokenUsage,
    Tool,
    ToolCall,
    UnknownLine,
)
from codex_adapter.hints import Hint
from codex_adapter.records import encode_events

from ....rows import rows

GOOD = ExitStatus(code=0)
SESSION = {"type": "session", "version": 3, "id": "s-1", "cwd": "/work"}
START = {"type": "agent_start"}
ASKED = {"type": "message_start", "message": {"role": "assistant", "content": []}}
TURN_END = {"type": "turn_end", "message": {}, "toolResults": []}
END = {"type": "agent_end", "messages": []}
LAST = {"type": "agent_end", "messages": [], "willRetry": False}
AGAIN = {"type": "agent_end", "messages": [], "willRetry": True}
SETTLED = {"type": "agent_settled"}
RETRY = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "429"}
TYPES = [member.__struct_config__.tag for member in Known.__args__]


def run(
    *lines: Any, stderr: bytes = b"", full: bool = False, status: ExitStatus = GOOD, limit: int = 16 * 1024 * 1024
) -> tuple[list[Event], Completion]:
    made: list[PiDecoder] = []

    def decoder(masker: Masker) -> PiDecoder:
        made.append(PiDecoder(masker, full_payloads=full))
        return made[-1]

    pipeline = Pipeline(decoder, max_line_bytes=limit)
    data = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    events = [*pipeline.receive_data(data), *pipeline.receive_eof()]
    made[0].receive_stderr(stderr)
    made[0].receive_stderr(b"")
    return events, pipeline.completion(status)


def events_of(*lines: Any, full: bool = False) -> list[Event]:
    return run(SESSION, START, *lines, full=full)[0][2:]


def answered(*texts: str, stop: str | None = "stop", error: str | None = None, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    message = {"role": "assistant", "content": content, "stopReason": stop, **more}
    if error is not None:
        message["errorMessage"] = error
    return {"type": "message_end", "message": message}


def part(type_: str, place: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": "message_update", "assistantMessageEvent": {"type": type_, "contentIndex": place, **more}}


def called(name: str, id_: str = "t", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_execution_start", "toolCallId": id_, "toolName": name, "args": arguments}


def ended(name: str, text: str, id_: str = "t", *, failed: bool = False, **details: Any) -> dict[str, Any]:
    result = {"content": [{"type": "text", "text": text}], **({"details": details} if details else {})}
    return {"type": "tool_execution_end", "toolCallId": id_, "toolName": name, "result": result, "isError": failed}


def tool_of(event: Event) -> Tool:
    assert isinstance(event.data, ToolCall)
    return event.data.tool


@pytest.mark.rule("M5", "M6", "M10", "F2", "F10")
@pytest.mark.parametrize("end", [[END], [LAST, SETTLED]], ids=["0.74", "0.80"])
def test_a_turn_with_a_text(end: list[Any]) -> None:
    usage = {"input": 2, "output": 1}
    events, completion = run(SESSION, START, ASKED, answered("Hi.", usage=usage), TURN_END, *end)
    assert [event.kind for event in events[:4]] == ["status", "status", "text_output", "status"]
    assert isinstance(events[0].data, SessionHandle)
    assert events[2].data == TextPart("1#0", "agent_message", "complete")
    assert events[-1].data == TokenUsage({"input": 2, "output": 1})
    counts = {"input": 2, "output": 1}
    assert completion == Completion(
        status=GOOD, final_text="Hi.", session_id="s-1", turn="completed", usage=counts, run_usage=counts
    )


@pytest.mark.rule("M2", "M4", "M10")
def test_a_text_in_fragments_is_shown_once_as_a_whole() -> None:
    events = events_of(
        ASKED,
        part("thinking_start"),
        part("thinking_delta", delta="h"),
        part("thinking_end", content="hm"),
        part("text_start", 1),
        part("text_delta", 1, delta="a", partial={"content": 7}),
        part("text_end", 1, content="ab"),
        part("toolcall_start", 2),
        answered("x", "ab", "more"),
    )
    assert [(event.text, event.data) for event in events if event.kind == "text_output"] == [
        ("h", TextPart("1#0", "reasoning", "delta")),
        ("hm", TextPart("1#0", "reasoning", "complete")),
        ("a", TextPart("1#1", "agent_message", "delta")),
        ("ab", TextPart("1#1", "agent_message", "complete")),
        ("more", TextPart("1#2", "agent_message", "complete")),
    ]


@pytest.mark.rule("M2")
def test_each_answer_has_its_own_number() -> None:
    events = events_of(ASKED, answered("a"), ASKED, answered("b"))
    assert [event.data.item_id for event in events if isinstance(event.data, TextPart)] == ["1#0", "2#0"]


@pytest.mark.rule("M0", "X1")
def test_messages_of_others_are_not_shown() -> None:
    for role in ("user", "system", "toolResult", "custom"):
        message = {"role": role, "content": [{"type": "text", "text": "hunter2"}], "sections": {"a": "hunter2"}}
        for type_ in ("message_start", "message_end"):
            assert events_of({"type": type_, "message": message}) == []


@pytest.mark.rule("F2", "F9", "AG4", "AG13")
@rows(
    ("lines", "turn", "hint"),
    [
        ([], None, None),
        ([START], "cut_off", None),
        ([START, answered("a")], "cut_off", None),
        ([START, answered("a"), END], "completed", None),
        ([START, answered("a"), LAST], "completed", None),
        ([START, answered("a"), AGAIN], "cut_off", None),
        ([START, answered("a"), LAST, SETTLED], "completed", None),
        ([START, answered(stop="error", error="401 x"), LAST, SETTLED], "failed", "not_logged_in"),
        ([START, answered(stop="error"), END], "failed", None),
        ([START, answered(stop="error", error="500: x"), END, RETRY], "cut_off", "server_error"),
        ([START, answered(stop="error", error="500: x"), END, RETRY, START, answered("b"), END], "completed", None),
        ([START, answered("a", stop="length"), LAST, SETTLED], "cut_off", "answer_incomplete"),
        ([START, answered("a", stop="aborted", error="Request was aborted"), LAST, SETTLED], "cut_off", None),
        ([START, answered("a", stop="toolUse"), LAST, SETTLED], "cut_off", None),
        ([START, answered("a", stop="new reason"), LAST, SETTLED], "cut_off", None),
        ([START, answered("a", stop=None), LAST, SETTLED], "cut_off", None),
        ([START, answered("a"), END, {"type": "compaction_start", "reason": "threshold"}], "completed", None),
    ],
)
def test_the_last_answer_decides_on_the_turn(lines: list[Any], turn: str | None, hint: Hint | None) -> None:
    completion = run(SESSION, *lines)[1]
    assert (completion.turn, completion.hint) == (turn, hint)


@pytest.mark.rule("M1", "F2")
def test_a_failed_turn_ends_with_one_event_whatever_the_release() -> None:
    error = answered(stop="error", error="500: x")
    for lines in ([error, END, RETRY, START, error, END], [error, AGAIN, RETRY, START, error, LAST, SETTLED]):
        events = events_of(*lines)
        assert [event.message for event in events if event.kind == "status" and event.message] == ["turn failed"]
        assert events[-1].message == "turn failed"


@pytest.mark.rule("AG4", "AG13")
@pytest.mark.parametrize(
    ("api", "end", "turn"),
    [
        ("openai-responses", [END], "cut_off"),
        ("azure-openai-responses", [END], "cut_off"),
        ("openai-responses", [LAST, SETTLED], "completed"),
        ("openai-completions", [END], "completed"),
    ],
)
def test_0_74_does_not_notice_that_an_answer_was_cut(api: str, end: list[Any], turn: str) -> None:
    completion = run(SESSION, START, answered("a", api=api, usage={"input": 0, "output": 0}), *end)[1]
    assert completion.turn == turn
    assert completion.hint == ("stream_cut" if turn == "cut_off" else None)


@pytest.mark.rule("AG13", "L2")
def test_a_line_of_all_messages_that_is_too_long_still_ends_the_turn() -> None:
    long = {**END, "messages": ["x" * 5_000]}
    assert run(SESSION, START, answered("a"), TURN_END, long, limit=4_000)[1].turn == "completed"
    assert run(SESSION, START, answered("a"), long, limit=4_000)[1].turn == "cut_off"
    half = json.dumps(long)[:100].encode()
    assert run(SESSION, START, answered("a"), TURN_END, half, limit=4_000)[1].turn == "cut_off"


@pytest.mark.rule("AG6", "M3")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("bash", "command_execution"),
        ("write", "file_change"),
        ("read", "file_read"),
        ("grep", "search"),
        ("new", "other"),
    ],
)
def test_the_kind_of_a_tool_is_of_the_closed_list(name: str, kind: str) -> None:
    tool = tool_of(events_of(called(name))[0])
    assert (tool.kind, tool.tool_name, tool.tool_use_id, tool.status) == (kind, name, "t", "running")


@pytest.mark.rule("M3")
@rows(
    ("line", "facts"),
    [
        (ended("bash", "é"), ("complete", "completed", 0, 2, 0, 0)),
        (ended("bash", "a\n\nCommand exited with code 3", failed=True), ("fail", "failed", 3, 29, 0, 0)),
        (ended("bash", "Command timed out after 2 seconds", failed=True), ("fail", "failed", None, 33, 0, 0)),
        (ended("edit", "ok", diff="-1\n+2"), ("complete", "completed", None, 0, 5, 2)),
        (ended("write", "ok"), ("complete", "completed", None, 0, 0, 2)),
        (ended("new", "abc"), ("complete", "completed", None, 0, 0, 3)),
        ({**ended("bash", ""), "result": "odd"}, ("complete", "completed", 0, 0, 0, 0)),
        ({**ended("edit", ""), "result": {"content": [], "details": 7}}, ("complete", "completed", None, 0, 0, 0)),
    ],
)
def test_the_result_of_a_tool(line: Any, facts: Any) -> None:
    tool = tool_of(events_of(called(line["toolName"]), line)[1])
    size = tool.bytes
    assert (tool.phase, tool.status, tool.exit_code, size.stdout, size.diff, size.result) == facts


@pytest.mark.rule("M3", "M9")
def test_calls_overlap_and_each_has_one_result() -> None:
    update = {"type": "tool_execution_update", "toolCallId": "a", "toolName": "bash", "partialResult": {"content": 7}}
    other = {**update, "toolCallId": "unknown"}
    events = events_of(called("bash", "a"), called("bash", "b"), update, other, ended("bash", "", "b"), LAST)
    shown = [(event.kind, tool_of(event).tool_use_id, tool_of(event).phase) for event in events[:5]]
    assert shown == [
        ("tool_call", "a", "start"),
        ("tool_call", "b", "start"),
        ("tool_call", "a", "delta"),
        ("tool_result", "b", "complete"),
        ("tool_result", "a", "complete"),
    ]
    assert tool_of(events[4]).status == "unknown"


@pytest.mark.rule("M7")
@pytest.mark.parametrize(
    ("name", "arguments", "field", "text"),
    [
        ("bash", {"command": "ls"}, "command", "ls"),
        ("bash", {"odd": 1}, "arguments", '{"odd": 1}'),
        ("write", {"a": 1}, "changes", '{"a": 1}'),
        ("grep", {"a": 1}, "query", '{"a": 1}'),
        ("new", {"a": 1}, "tool", "new"),
    ],
)
def test_the_input_of_a_tool_in_full(name: str, arguments: Any, field: str, text: str) -> None:
    data = events_of(called(name, **arguments), full=True)[0].data
    assert isinstance(data, ToolCall)
    assert getattr(data.input, field) == PayloadText(text, truncated=False)


@pytest.mark.rule("M7")
@pytest.mark.parametrize(
    ("name", "failed", "field"),
    [("bash", False, "aggregated_output"), ("read", False, "result"), ("read", True, "error")],
)
def test_the_output_of_a_tool_in_full(name: str, failed: bool, field: str) -> None:
    data = events_of(called(name), ended(name, "out", failed=failed), full=True)[1].data
    assert isinstance(data, ToolCall)
    assert getattr(data.output, field) == PayloadText("out", truncated=False)


@pytest.mark.rule("F9", "K2", "M8")
@rows(
    ("text", "hint"),
    [
        ("401 Incorrect API key provided", "not_logged_in"),
        ('403: {"message":"no","type":"permission_error"}', "forbidden"),
        ('OpenAI API error (404): {"message":"x","code":"model_not_found"}', "model_unknown"),
        ("404 The model `x` does not exist", "model_unknown"),
        ("404 page not found", "endpoint_unknown"),
        ('404 {"type":"error","error":{"type":"not_found_error","message":"model: m-1"}}', "model_unknown"),
        ('404 {"type":"error","error":{"type":"not_found_error","message":"Not Found"}}', "endpoint_unknown"),
        ('400 {"type":"error","error":{"type":"invalid_request_error","message":"model: x"}}', "request_rejected"),
        ('mock API error (429): {"error":{"code":"insufficient_quota"}}', "quota_exceeded"),
        ('429: {"code":7}', "rate_limited"),
        ("429 You exceeded your current quota, please check", "quota_exceeded"),
        ("400 This model's maximum context length is 200000 tokens.", "context_too_long"),
        ("400 bad", "request_rejected"),
        ("503: x", "overloaded"),
        ("500 The server had an error", "server_error"),
        ("504: x", "server_error"),
        ("418: teapot", None),
        ("server_error: scripted", "server_error"),
        ("context_length_exceeded: too long", "context_too_long"),
        ("Connection error.", "no_network"),
        ("terminated", "stream_cut"),
        ("Stream ended without finish_reason", "stream_cut"),
        ("Provider finish_reason: content_filter", "policy_refused"),
        ("[" * 9_000, None),
        ("nothing that is known", None),
    ],
)
def test_the_cause_of_an_error(text: str, hint: Hint | None) -> None:
    events, completion = run(SESSION, START, answered(stop="error", error=text), END)
    assert (events[2].kind, events[2].data) == ("error", ErrorSource("item"))
    assert completion.hint == hint
    assert run(SESSION, START, answered(stop="error", error=text), START, answered("x"), END)[1].hint is None


@pytest.mark.rule("K2", "F9")
def test_failures_and_retries_are_no_progress() -> None:
    pipeline = Pipeline(PiDecoder)
    pipeline.receive_data(b'{"type":"agent_start"}\n')
    assert pipeline.state.take_progress()
    for line in (answered(stop="error", error="429 x"), RETRY):
        pipeline.receive_data(json.dumps(line).encode() + b"\n")
        assert not pipeline.state.take_progress()
    assert pipeline.hint == "rate_limited"


@pytest.mark.rule("F13", "F15", "AG13")
@pytest.mark.parametrize("end", [(), (answered(stop="error", error="429 x"), END)], ids=["cut off", "failed"])
def test_a_turn_that_does_not_complete_has_the_counts_and_the_cost_of_its_answers(end: tuple[Any, ...]) -> None:
    usage = {"input": 2, "cost": {"total": 0.5}}
    completion = run(SESSION, START, answered(usage=usage), answered(usage=usage), *end)[1]
    assert completion.turn == ("failed" if end else "cut_off")
    assert (completion.usage, completion.run_usage, completion.cost_usd) == (None, {"input": 4}, 1.0)


@pytest.mark.rule("M6", "F10")
def test_the_counts_of_all_requests_are_added_up() -> None:
    usage = {"input": 2, "odd": "x", "deep": {}, "many": 10**30, "bad name": 1, "a:b/c": 1, "n" * 65: 1}
    done = {"type": "compaction_end", "reason": "threshold", "result": {"usage": {"input": 5}}}
    more = {f"count{number}": 1 for number in range(200)}
    completion = run(SESSION, START, answered(usage=usage), answered(usage=[]), done, answered(), END)[1]
    assert (completion.usage, completion.run_usage) == ({"input": 7}, {"input": 7})
    others = {f"other{number}": 1 for number in range(50)}
    completion = run(SESSION, START, answered(usage=more), answered(usage=others), END)[1]
    assert completion.usage is not None
    assert len(completion.usage) == 64
    assert run(SESSION, START, answered(), END)[1].usage is None


@pytest.mark.rule("F13", "M6")
def test_the_cost_of_all_requests_is_added_up() -> None:
    events, completion = run(
        SESSION,
        START,
        answered(usage={"input": 1, "cost": {"input": 0.2, "total": 0.25}}),
        answered(usage={"input": 1, "cost": {"total": 0.5}}),
        END,
    )
    assert completion.cost_usd == 0.75
    assert events[-1].data == TokenUsage({"input": 2}, 0.75)
    for odd in ({"total": 0}, {"total": None}, {}, None, "x", {"total": "x"}, {"total": 1e300}):
        assert run(SESSION, START, answered(usage={"input": 1, "cost": odd}), END)[1].cost_usd is None


@pytest.mark.rule("F13")
def test_a_run_that_is_killed_has_the_cost_so_far() -> None:
    assert run(SESSION, START, answered(usage={"cost": {"total": 0.5}}))[1].cost_usd == 0.5


@pytest.mark.rule("F13", "F15", "AG13")
@pytest.mark.parametrize("place", ["line", "message"])
def test_a_run_that_is_stopped_in_an_answer_has_what_the_answer_used_so_far(place: str) -> None:
    def update(number: int) -> dict[str, Any]:
        usage = {"input": number, "bad name": 1, "cost": {"total": number / 4}}
        where: dict[str, Any] = {"usage": usage} if place == "line" else {"message": {"usage": usage}}
        return {"type": "message_update", "assistantMessageEvent": {"type": "text_start"}, **where}

    def used(*lines: Any) -> tuple[Any, Any]:
        completion = run(SESSION, START, *lines)[1]
        return completion.run_usage, completion.cost_usd

    whole = answered(usage={"input": 8, "cost": {"total": 2}})
    assert used(ASKED, update(1), update(2)) == ({"input": 2}, 0.5)
    assert used(ASKED, update(2), whole) == ({"input": 8}, 2.0)
    assert used(ASKED, update(2), whole, ASKED, update(1)) == ({"input": 9}, 2.25)
    assert used(ASKED, update(2), whole, END) == ({"input": 8}, 2.0)
    for odd in ({"usage": "x"}, {"message": "x"}, {"usage": {"cost": {"total": 1e300}}}, {"message": {"usage": 7}}):
        assert used(ASKED, {**update(2), "usage": None, "message": None, **odd}) == (None, None)


@pytest.mark.rule("M12", "F9")
@pytest.mark.parametrize(
    ("line", "retry"),
    [
        (RETRY, Retry(1, 3, 2.0, 429, "rate_limited")),
        ({**RETRY, "errorMessage": "terminated", "delayMs": 0.5}, Retry(1, 3, 0.0005, None, "stream_cut")),
        ({"type": "auto_retry_start"}, Retry()),
    ],
)
def test_a_retry_is_reported_with_its_cause(line: Any, retry: Retry) -> None:
    assert [(event.kind, event.data) for event in events_of(line)] == [("status", retry)]


@pytest.mark.rule("M14")
def test_the_model_is_reported_when_it_changes() -> None:
    def asked(**message: Any) -> dict[str, Any]:
        return {"type": "message_start", "message": {"role": "assistant", **message}}

    events = events_of(asked(model="a"), asked(model="a"), asked(), asked(model="b"))
    assert [event.data for event in events] == [AgentInfo(model="a"), AgentInfo(model="b")]


@pytest.mark.rule("M0")
def test_other_lines() -> None:
    quiet = [{"type": type_} for type_ in ("turn_start", "queue_update", "entry_appended", "auto_retry_end")]
    failed = {"type": "compaction_end", "errorMessage": "Compaction failed: x"}
    events = events_of(*quiet, {"type": "compaction_end"}, failed, {"type": "extension_error", "error": "hunter2"})
    assert [event.kind for event in events] == ["status"] * 5 + ["error"] * 2
    assert [event.message for event in events[5:]] == ["Compaction failed: x", "an extension of the CLI failed"]


@pytest.mark.rule("T4")
@pytest.mark.parametrize(
    ("type_", "shown"),
    [("brand_new", "brand_new"), ("new one", "new"), ("\u0000", None), ("x" * 200, "x" * 64), ("a:b/c", "a")],
)
def test_a_line_of_a_type_that_is_not_known(type_: str, shown: str | None) -> None:
    assert events_of({"type": type_})[0].data == UnknownLine(shown, None)


@pytest.mark.rule("L4", "X2", "X3")
@rows(
    ("line", "reason"),
    [
        (b"not JSON\n", "parse error (redacted): malformed JSON at byte 4"),
        (b'{"type":"agent_start"\n', "parse error (redacted): malformed JSON at byte 21"),
        (b"[]\n", "parse error (redacted): not an object"),
        (b"{}\n", "normalize error (redacted): missing field type"),
        (b'{"type":"session"}\n', "normalize error (redacted): missing field id"),
        (b'{"type":"session","id":7}\n', "normalize error (redacted): wrong type for field id"),
        (b'{"type":"message_end","message":{"content":[]}}\n', "normalize error (redacted): missing field role"),
    ],
)
def test_a_bad_line_is_described_without_its_text(line: bytes, reason: str) -> None:
    message = f"pi stream {reason} (line_bytes={len(line) - 1})"
    assert [(event.kind, event.message) for event in events_of(line)] == [("error", message)]


@pytest.mark.rule("T2", "B6")
def test_half_of_a_surrogate_pair_becomes_a_replacement_character() -> None:
    line = b'{"type":"message_update","assistantMessageEvent":{"type":"text_end","content":"a\\ud83d b"}}\n'
    assert events_of(line)[0].text == "a\ufffd b"
    content = answered(usage=None)
    content["message"]["content"] = "no blocks"
    assert events_of(content) == []


@pytest.mark.rule("M9", "X5")
def test_open_calls_are_closed_with_their_names_to_mask() -> None:
    decoder = PiDecoder(Masker(()))
    call = {"type": "tool_execution_start", "toolCallId": "c-1", "toolName": "bash", "args": {}}
    decoder.decode([json.dumps(call).encode()])
    closed = decoder.close_tools()
    assert [event.kind for event in closed.events] == ["tool_result"]
    assert closed.free_text == ["c-1", "bash"]
    assert decoder.close_tools().events == []


@pytest.mark.rule("S9")
@pytest.mark.parametrize(
    ("stderr", "lines", "missing"),
    [
        (b"No session found matching 'x'\n", [], True),
        (b"Session found in different project: /a\nFork this session into current directory? [y/N] ", [], True),
        (b"No session found matching 'x'\n", [SESSION], False),
        (b"anything", [], False),
    ],
)
def test_a_session_that_does_not_exist_here(stderr: bytes, lines: list[Any], missing: bool) -> None:
    decoder = PiDecoder(Masker(()))
    decoder.decode([json.dumps(line).encode() for line in lines])
    decoder.receive_stderr(stderr[:10])
    decoder.receive_stderr(stderr[10:])
    assert decoder.session_missing == missing


@pytest.mark.rule("F9", "X1")
@rows(
    ("stderr", "hint"),
    [
        (b"No API key found for openai.\n\nUse /login\n", "not_logged_in"),
        (b"\x1b[31mError: Unknown option: --x\x1b[39m\n", "flag_unknown"),
        (b'Error: Unknown provider "x". Use\n', "configuration_broken"),
        (b"SyntaxError: The requested module 'node:module' does not\n", "cli_not_executable"),
        (b"\xff\xfe something else", None),
        (b"x" * 100_000, None),
    ],
)
def test_the_end_of_stderr_explains_a_start_that_failed(stderr: bytes, hint: Hint | None) -> None:
    assert run(stderr=stderr, status=ExitStatus(code=1))[1].hint == hint
    assert run(SESSION, START, stderr=stderr)[1].hint is None
    assert run(SESSION, START, answered("a"), END, stderr=stderr)[1].hint is None


@pytest.mark.rule("M5")
def test_a_session_id_that_is_too_long_is_not_shown() -> None:
    events, completion = run({**SESSION, "id": "x" * 5000})
    assert events[0].message == "session handle id oversize: len_bytes=5000"
    assert completion.session_id is None


@pytest.mark.rule("M5")
def test_a_session_id_waits_for_a_status_event() -> None:
    events, _ = run(b'{"type":"x"}\n', SESSION)
    assert [type(event.data) for event in events] == [UnknownLine, SessionHandle]


@pytest.mark.rule("B6", "V1")
def test_whole_messages_that_repeat_take_no_memory() -> None:
    """Up to 0.80, each fragment comes with the whole message so far, twice: 8 MB for 9 KB of text."""
    pipeline = Pipeline(PiDecoder)
    pieces, whole = 900, ""
    tracemalloc.start()
    for _ in range(pieces):
        whole += "0123456789"
        message = {"role": "assistant", "content": [{"type": "text", "text": whole}]}
        line = {**part("text_delta", delta="0123456789", partial=message), "message": message}
        before = tracemalloc.get_traced_memory()[0]
        data = json.dumps(line).encode() + b"\n"
        pipeline.receive_data(data)
        del data, message, line
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    tracemalloc.stop()


WORDS = """
    type id message role content text assistantMessageEvent contentIndex delta partial toolCallId toolName args result
    details isError willRetry usage stopReason errorMessage api
"""
NAMES = st.sampled_from(WORDS.split())
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 10**20)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from([*TYPES, "assistant", "stop", "error", "text_delta", "text_end", "text", "bash", "t", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=20,
)
LINES = st.builds(
    lambda type_, fields: {**fields, "type": type_}, st.sampled_from(TYPES), st.dictionaries(NAMES, VALUES)
)


@pytest.mark.rule("AG3", "M9", "B6", "M0")
@given(st.lists(LINES | VALUES, max_size=12), st.booleans())
def test_no_line_raises_and_all_calls_are_closed(lines: list[Any], full: bool) -> None:
    events, completion = run(*lines, full=full)
    encode_events(events)
    assert [event.seq for event in events] == list(range(len(events)))
    tools = [(event.kind, tool_of(event)) for event in events if isinstance(event.data, ToolCall)]
    opened: set[str | None] = set()
    for kind, tool in tools:
        opened = opened | {tool.tool_use_id} if kind == "tool_call" else opened - {tool.tool_use_id}
    assert opened == set()
    assert completion.turn in (None, "completed", "failed", "cut_off")


@pytest.mark.rule("AG3")
@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    run(SESSION, data, START)
