"""Test each kind of line that the decoder knows, and lines that it does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter import Completion, Event, Pipeline
from codex_adapter.agents.claude.stream.decoder import ClaudeDecoder
from codex_adapter.agents.claude.stream.line_parser import _FIELDS
from codex_adapter.core.bad_lines import field_reason
from codex_adapter.core.masking.masker import Masker
from codex_adapter.events import (
    ErrorSource,
    ExitStatus,
    PayloadText,
    SessionHandle,
    TextPart,
    TokenUsage,
    Tool,
    ToolCall,
    UnknownLine,
)
from codex_adapter.hints import Hint

from ....rows import rows

GOOD = ExitStatus(code=0)
INIT = {"type": "system", "subtype": "init", "session_id": "s-1"}
DONE = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": "s-1"}
FLAGGED = "Opus 5.5's safeguards flagged this message (https://www.anthropic.com/legal/aup)."
UNKNOWN_SESSION = "No conversation found with session ID: x"
OTHERS = "tool_progress control_response control_cancel_request command_lifecycle conversation_reset keep_alive"


def run(
    *lines: Any, stderr: bytes = b"", full: bool = False, status: ExitStatus = GOOD
) -> tuple[list[Event], Completion]:
    def decoder(masker: Masker) -> ClaudeDecoder:
        made.append(ClaudeDecoder(masker, full_payloads=full))
        return made[-1]

    made: list[ClaudeDecoder] = []
    pipeline = Pipeline(decoder)
    data = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    events = [*pipeline.receive_data(data), *pipeline.receive_eof()]
    made[0].receive_stderr(stderr)
    made[0].receive_stderr(b"")
    return events, pipeline.completion(status)


def events_of(*lines: Any, full: bool = False) -> list[Event]:
    return run(*lines, full=full)[0]


def assistant(*blocks: Any, **more: Any) -> dict[str, Any]:
    message = {"id": "m", "model": more.pop("model", "opus"), "content": list(blocks)}
    message["stop_reason"] = more.pop("stop_reason", None)
    return {"type": "assistant", "message": message, "session_id": "s-1", **more}


def result_line(use_id: str, content: Any, **more: Any) -> dict[str, Any]:
    known = {name: more.pop(name) for name in ("tool_use_result",) if name in more}
    block = {"type": "tool_result", "tool_use_id": use_id, "content": content, **more}
    return {"type": "user", "message": {"role": "user", "content": [block]}, **known}


def use(name: str, use_id: str = "t", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": use_id, "name": name, "input": arguments}


def tool_of(event: Event) -> Tool:
    assert isinstance(event.data, ToolCall)
    return event.data.tool


def partial(**event: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": event}


@pytest.mark.rule("M5", "M10", "F2")
def test_a_turn_with_a_text() -> None:
    events, completion = run(INIT, assistant({"type": "text", "text": "Hi."}), {**DONE, "usage": {"input_tokens": 2}})
    assert [event.kind for event in events] == ["status", "text_output", "status"]
    assert isinstance(events[0].data, SessionHandle)
    assert events[1].data == TextPart("m#0", "agent_message", "complete", 1, 1)
    assert events[2].data == TokenUsage({"input_tokens": 2})
    assert completion == Completion(
        status=GOOD,
        final_text="Done.",
        session_id="s-1",
        turn="completed",
        usage={"input_tokens": 2},
        run_usage={"input_tokens": 2},
    )


@pytest.mark.rule("M2", "AG7")
def test_the_answer_for_an_output_schema_is_a_message_and_not_a_tool() -> None:
    refused = (assistant(use("StructuredOutput", "a", n="one")), result_line("a", "wrong type", is_error=True))
    accepted = (assistant(use("StructuredOutput", "b", n=1)), result_line("b", "Structured output provided"))
    done = {**DONE, "structured_output": {"n": 1}}
    for after in ([], [assistant({"type": "text", "text": "Anything else?"})]):
        events, completion = run(INIT, *refused, *accepted, *after, done)
        assert {event.kind for event in events} == {"status", "text_output"}
        assert events[-2].data == TextPart("StructuredOutput", "agent_message", "complete", 1, 1)
        assert events[-2].text == completion.final_text == '{"n": 1}'
    of_sub_agent = assistant(use("StructuredOutput", "c", n=1), parent_tool_use_id="t")
    assert [event.kind for event in events_of(INIT, of_sub_agent, result_line("c", "x"))] == [
        *("status", "tool_call", "tool_result"),
    ]


@pytest.mark.rule("M5")
def test_a_session_id_that_only_the_last_line_has_is_reported() -> None:
    events, completion = run({"type": "stream_event", "event": {"type": "ping"}, "session_id": "s-9"})
    assert [type(event.data) for event in events] == [SessionHandle]
    assert completion.session_id == "s-9"


@pytest.mark.rule("M2")
def test_blocks_of_one_message_have_numbers_also_over_lines() -> None:
    events = events_of(
        assistant({"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "a"}),
        assistant({"type": "text", "text": "b"}),
    )
    assert [event.data.item_id for event in events if isinstance(event.data, TextPart)] == ["m#0", "m#1", "m#2"]
    assert isinstance(events[0].data, SessionHandle) or events[0].kind == "text_output"


@pytest.mark.rule("M0", "T4")
def test_other_blocks() -> None:
    events = events_of(
        INIT,
        assistant({"type": "redacted_thinking", "data": "x"}),
        assistant({"type": "new_block"}),
        assistant({"type": "new block\u0000"}),
        assistant(),
        {"type": "assistant", "message": {"id": "n", "content": "only text"}},
    )
    assert [event.kind for event in events] == ["status", "unknown", "unknown", "text_output"]
    assert events[1].data == UnknownLine("assistant", "new_block")
    assert events[2].data == UnknownLine("assistant", "new")


@pytest.mark.rule("M11")
def test_a_text_of_a_sub_agent_is_not_the_final_text() -> None:
    lines = [
        INIT,
        assistant({"type": "text", "text": "main"}),
        assistant({"type": "text", "text": "sub"}, parent_tool_use_id="t"),
    ]
    assert run(*lines, {**DONE, "result": None})[1].final_text == "main"


@pytest.mark.rule("M2")
def test_parts_of_a_text() -> None:
    events = events_of(
        INIT,
        partial(type="message_start", message={"id": "m"}),
        partial(type="content_block_start", index=0),
        partial(type="content_block_delta", index=1, delta={"type": "text_delta", "text": "a"}),
        partial(type="content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "b"}),
        partial(type="content_block_delta", index=0, delta={"type": "input_json_delta"}),
    )
    assert [(event.text, event.data) for event in events[1:]] == [
        ("a", TextPart("m#1", "agent_message", "delta", 1, 1)),
        ("b", TextPart("m#0", "reasoning", "delta", 1, 1)),
    ]


@pytest.mark.rule("M2")
def test_the_messages_of_many_threads_take_bounded_memory() -> None:
    lines = [assistant({"type": "text", "text": "x"}, parent_tool_use_id=f"t{number}") for number in range(200)]
    assert len(events_of(INIT, *lines)) == 201


@pytest.mark.rule("AG6", "M3")
@rows(
    ("name", "kind", "shown"),
    [
        ("Bash", "command_execution", "Bash"),
        ("Write", "file_change", "Write"),
        ("Read", "file_read", "Read"),
        ("Grep", "search", "Grep"),
        ("WebFetch", "web_fetch", "WebFetch"),
        ("Agent", "collab_tool_call", "Agent"),
        ("mcp__srv__do__it", "mcp_tool_call", "srv/do__it"),
        ("mcp__odd", "other", "mcp__odd"),
        ("New", "other", "New"),
        ("", "other", None),
    ],
)
def test_the_kind_of_a_tool_is_of_the_closed_list(name: str, kind: str, shown: str | None) -> None:
    tool = tool_of(events_of(INIT, assistant(use(name)))[1])
    assert (tool.kind, tool.tool_name, tool.tool_use_id) == (kind, shown, "t")


@pytest.mark.rule("AG6")
def test_a_call_of_the_service_s_own_mcp_client() -> None:
    block = {"type": "mcp_tool_use", "id": "t", "name": "do", "input": {}}
    assert tool_of(events_of(INIT, assistant(block))[1]).kind == "mcp_tool_call"


@pytest.mark.rule("M3", "M9")
def test_a_call_without_an_id_gets_no_result_of_the_adapter() -> None:
    events = events_of(INIT, assistant({"type": "tool_use", "name": "Bash"}))
    assert [event.kind for event in events] == ["status", "tool_call"]
    assert events_of(INIT, result_line("", "x"))[1].kind == "tool_result"


@pytest.mark.rule("M9")
def test_an_open_call_has_an_unknown_outcome_at_the_end() -> None:
    events = events_of(INIT, assistant(use("Bash")), {**DONE, "is_error": True})
    assert [event.kind for event in events] == ["status", "tool_call", "tool_result", "status"]
    assert tool_of(events[2]).status == "unknown"


@pytest.mark.rule("M3")
@rows(
    ("line", "facts"),
    [
        (result_line("t", "out"), ("complete", "completed", 0, 3, 0)),
        (result_line("t", "Exit code 3\nout", is_error=True), ("fail", "failed", 3, 15, 0)),
        (result_line("t", "was not run", is_error=True), ("fail", "failed", None, 11, 0)),
        (result_line("t", "x", tool_use_result={"stdout": "é", "stderr": "12"}), ("complete", "completed", 0, 2, 2)),
        (result_line("t", "x", tool_use_result={"stdout": "1"}), ("complete", "completed", 0, 1, 0)),
        (result_line("t", "x", tool_use_result={"backgroundTaskId": "b"}), ("delta", "running", None, 1, 0)),
        (result_line("t", "x", tool_use_result={"stdout": 7}), ("complete", "completed", 0, 1, 0)),
        (result_line("t", "x", tool_use_result="Error"), ("complete", "completed", 0, 1, 0)),
        (result_line("t", 7), ("complete", "completed", 0, 0, 0)),
    ],
)
def test_the_result_of_a_command(line: Any, facts: Any) -> None:
    tool = tool_of(events_of(INIT, assistant(use("Bash")), line)[2])
    assert (tool.phase, tool.status, tool.exit_code, tool.bytes.stdout, tool.bytes.stderr) == facts


@pytest.mark.rule("M3")
def test_the_result_of_other_tools() -> None:
    blocks = [{"type": "text", "text": "ab"}, {"type": "image"}, {"type": "text", "text": "c"}]
    found = tool_of(events_of(INIT, result_line("other", blocks))[1])
    assert (found.kind, found.bytes.result, found.tool_name) == ("other", 4, None)
    patched = result_line("t", "ok", tool_use_result={"structuredPatch": [1]})
    assert tool_of(events_of(INIT, assistant(use("Write")), patched)[2]).bytes.diff == 3
    unpatched = result_line("t", "ok", tool_use_result={"isAsync": True})
    changed = tool_of(events_of(INIT, assistant(use("Write")), unpatched)[2])
    assert (changed.bytes.diff, changed.status) == (0, "running")


@pytest.mark.rule("M3")
def test_two_results_in_a_line_and_one_in_a_message_of_the_model() -> None:
    two = result_line("t", "x", tool_use_result={"stdout": "long"})
    two["message"]["content"] *= 2
    events = events_of(INIT, assistant(use("Bash")), two)
    assert tool_of(events[2]).bytes.stdout == 1
    served = assistant({"type": "web_search_tool_result", "tool_use_id": "w", "content": []})
    assert events_of(INIT, served)[1].kind == "tool_result"


@pytest.mark.rule("M0")
def test_what_a_user_says_is_not_the_agent_s_text() -> None:
    for content in ("words", [{"type": "text", "text": "words"}]):
        assert len(events_of(INIT, {"type": "user", "message": {"content": content}})) == 1


@pytest.mark.rule("M7")
@rows(
    ("name", "arguments", "field", "text"),
    [
        ("Bash", {"command": "ls"}, "command", "ls"),
        ("Bash", {"odd": 1}, "arguments", '{"odd": 1}'),
        ("Write", {"a": 1}, "changes", '{"a": 1}'),
        ("mcp__s__t", {"a": 1}, "server", "s"),
        ("Grep", {"a": 1}, "query", '{"a": 1}'),
        ("New", {"a": 1}, "tool", "New"),
    ],
)
def test_the_input_of_a_tool_in_full(name: str, arguments: Any, field: str, text: str) -> None:
    data = events_of(INIT, assistant(use(name, **arguments)), full=True)[1].data
    assert isinstance(data, ToolCall)
    assert getattr(data.input, field) == PayloadText(text, truncated=False)


@pytest.mark.rule("M7")
@pytest.mark.parametrize(
    ("name", "more", "field"),
    [("Bash", {}, "aggregated_output"), ("Read", {}, "result"), ("Read", {"is_error": True}, "error")],
)
def test_the_output_of_a_tool_in_full(name: str, more: Any, field: str) -> None:
    data = events_of(INIT, assistant(use(name)), result_line("t", "out", **more), full=True)[2].data
    assert isinstance(data, ToolCall)
    assert getattr(data.output, field) == PayloadText("out", truncated=False)


@pytest.mark.rule("F9", "K2")
@rows(
    ("more", "text", "hint"),
    [
        ({"error": "authentication_failed"}, "Please", "not_logged_in"),
        ({"is_api_error_message": True, "api_error_status": 529}, "no", "overloaded"),
        ({}, "API Error: 500 internal", "server_error"),
        ({}, "API Error: 418 teapot", None),
        ({"error": "unknown"}, "", None),
        ({"error": "unknown"}, "Credit balance is too low", "quota_exceeded"),
        ({"error": "invalid_request", "stop_reason": "refusal"}, f"API Error: {FLAGGED}", "policy_refused"),
        ({"error": "unknown", "stop_reason": "refusal"}, "API Error: 529 x", "overloaded"),
        ({"error": "invalid_request", "stop_reason": "stop_sequence"}, f"API Error: {FLAGGED}", None),
    ],
)
def test_an_error_that_the_cli_writes_as_a_message(more: Any, text: str, hint: Hint | None) -> None:
    events, completion = run(INIT, assistant({"type": "text", "text": text}, model="<synthetic>", **more))
    assert (events[1].kind, events[1].message) == ("error", text or "request failed")
    assert completion.hint == hint


@pytest.mark.rule("F9")
def test_a_later_message_of_the_model_ends_a_hint() -> None:
    error = assistant({"type": "text", "text": "API Error: 500 x"}, model="<synthetic>")
    assert run(INIT, error, assistant({"type": "text", "text": "again"}))[1].hint is None
    assert run(INIT, error, INIT)[1].hint is None
    plain = assistant({"type": "text", "text": "No response requested."}, model="<synthetic>")
    assert len(events_of(INIT, plain)) == 1


@pytest.mark.rule("M0", "F9")
def test_notices_of_the_system() -> None:
    def system(subtype: str, **more: Any) -> dict[str, Any]:
        return {"type": "system", "subtype": subtype, **more}

    events, completion = run(
        INIT,
        system("api_retry", error="rate_limit", error_status=429),
        system("informational", level="warning", content="careful"),
        system("notification", level="error", text="careful"),
        system("notification", level="error"),
        system("informational", level="info", content="x"),
        system("status"),
        system("brand_new"),
    )
    assert [event.kind for event in events[1:]] == ["status", *["error"] * 3, "status", "unknown"]
    assert [event.message for event in events[2:6]] == ["careful", "careful", "notification", "x"]
    assert events[2].data == ErrorSource("item")
    assert completion.hint == "rate_limited"


@pytest.mark.rule("F2", "F9", "AG4")
@rows(
    ("line", "hint"),
    [
        ({"subtype": "success", "is_error": True, "result": "API Error: 401 x"}, "not_logged_in"),
        (
            {
                "subtype": "success",
                "is_error": True,
                "result": "API Error: The model has reached its context window limit.",
            },
            "context_too_long",
        ),
        ({"subtype": "success", "is_error": True, "result": "API Error: JSON Parse error: x"}, "server_error"),
        ({"subtype": "success", "is_error": True, "result": "API Error: Unexpected token 'o'"}, "server_error"),
        ({"subtype": "success", "is_error": True, "api_error_type": "billing_error"}, "quota_exceeded"),
        (
            {"subtype": "error_during_execution", "errors": ["No conversation found with session ID: x"]},
            "session_unknown",
        ),
        ({"subtype": "error_during_execution", "terminal_reason": "prompt_too_long"}, "context_too_long"),
        ({"subtype": "error_max_turns"}, "turn_limit"),
        ({"subtype": "error_new", "terminal_reason": "max_turns"}, "turn_limit"),
        ({"subtype": "error_max_budget_usd"}, "budget_limit"),
        ({"subtype": "error_new", "terminal_reason": "budget_exhausted"}, "budget_limit"),
        ({"subtype": "error_max_structured_output_retries"}, "schema_ignored"),
        ({"subtype": "error_new", "terminal_reason": "structured_output_retry_exhausted"}, "schema_ignored"),
        ({"subtype": "success", "is_error": True, "result": FLAGGED, "stop_reason": "refusal"}, "policy_refused"),
        ({"subtype": "success", "is_error": True, "result": FLAGGED, "stop_reason": "end_turn"}, None),
        ({"subtype": "error_during_execution", "errors": ["odd"]}, None),
    ],
)
def test_a_turn_that_failed(line: Any, hint: Hint | None) -> None:
    events, completion = run(INIT, {"type": "result", **line})
    assert (events[-1].message, completion.turn, completion.hint) == ("turn failed", "failed", hint)


@pytest.mark.rule("F11", "F16")
def test_a_completed_turn_for_which_the_model_was_not_asked_is_not_ok() -> None:
    nothing = {"type": "result", "subtype": "success", "result": "/login is not here.", "usage": {"output_tokens": 0}}
    _, completion = run(INIT, nothing)
    assert (completion.turn, completion.hint, completion.ok) == ("completed", "no_answer", False)
    # A line of the model that is too long to be read has tokens all the same.
    _, completion = run(INIT, {**nothing, "usage": {"output_tokens": 1}})
    assert (completion.hint, completion.ok) == (None, True)
    _, completion = run(INIT, assistant({"type": "text", "text": "Hi."}), nothing)
    assert (completion.hint, completion.ok) == (None, True)
    _, completion = run(INIT, assistant({"type": "text", "text": "Hi."}), nothing, INIT, nothing)
    assert (completion.hint, completion.ok) == ("no_answer", False)


@pytest.mark.rule("F9", "M0")
def test_a_refusal_by_policy_is_known_by_its_stop_reason() -> None:
    text = f"API Error: {FLAGGED}"
    refused = {"subtype": "model_refusal_no_fallback", "original_model": "opus", "api_refusal_category": None}
    events, completion = run(
        INIT,
        assistant({"type": "text", "text": "no"}),
        {"type": "system", **refused, "content": ""},
        assistant({"type": "text", "text": text}, model="<synthetic>", stop_reason="refusal", error="invalid_request"),
        {
            **{"type": "result", "subtype": "success", "is_error": True, "result": text},
            **{"stop_reason": "refusal", "terminal_reason": "api_error", "api_error_status": None},
        },
    )
    assert [(event.kind, event.message) for event in events[2:]] == [("error", text), ("status", "turn failed")]
    assert (completion.turn, completion.hint) == ("failed", "policy_refused")


@pytest.mark.rule("F14", "X5")
def test_a_schema_that_the_model_never_fulfils_is_an_error_with_the_words_of_the_cli() -> None:
    why = "Failed to provide valid structured output after 5 attempts \u2014 last StructuredOutput error: /a: hunter-x2"
    line = {
        **{"type": "result", "subtype": "error_max_structured_output_retries", "is_error": True, "errors": [why]},
        "terminal_reason": "structured_output_retry_exhausted",
    }
    pipeline = Pipeline(ClaudeDecoder, secrets=("hunter-x2",))
    events = pipeline.receive_data(b"".join(json.dumps(one).encode() + b"\n" for one in (INIT, line)))
    masked = why.replace("hunter-x2", "***")
    assert [(event.kind, event.message) for event in events[1:]] == [("error", masked), ("status", "turn failed")]
    assert pipeline.completion(ExitStatus(code=1)).hint == "schema_ignored"
    assert [event.kind for event in events_of(INIT, {**line, "errors": []})] == ["status", "status"]


@pytest.mark.rule("S9")
def test_a_session_that_does_not_exist() -> None:
    for stderr, lines in [
        (b"No conversation found with session ID: x\n", []),
        (
            b"",
            [
                {
                    "type": "result",
                    "subtype": "error_during_execution",
                    "errors": ["No conversation found with session ID"],
                }
            ],
        ),
    ]:
        decoder = ClaudeDecoder(Masker(()))
        decoder.decode([json.dumps(line).encode() for line in lines])
        decoder.receive_stderr(stderr)
        assert decoder.session_missing


@pytest.mark.rule("F9", "X1")
@pytest.mark.parametrize(
    ("stderr", "hint"),
    [
        (b"error: unknown option '--x'\n", "flag_unknown"),
        (b"Error: sandbox required but unavailable: no socat\nmore\n", "sandbox_unavailable"),
        (b"\xff\xfe something else", None),
        (b"x" * 100_000, None),
    ],
)
def test_the_end_of_stderr_explains_a_start_that_failed(stderr: bytes, hint: Hint | None) -> None:
    events, completion = run(stderr=stderr, status=ExitStatus(code=1))
    assert (events, completion.hint) == ([], hint)
    assert run(INIT, DONE, stderr=stderr)[1].hint is None


@pytest.mark.rule("M5")
def test_a_session_id_that_is_too_long_is_not_shown() -> None:
    events, completion = run({**INIT, "session_id": "x" * 5000})
    assert events[0].message == "session handle id oversize: len_bytes=5000"
    assert completion.session_id is None


@pytest.mark.rule("F9", "K1")
def test_the_hint_is_known_while_the_agent_tries_again() -> None:
    pipeline = Pipeline(ClaudeDecoder)
    pipeline.receive_data(b'{"type":"system","subtype":"api_retry","error_status":529}\n')
    assert pipeline.hint == "overloaded"


@pytest.mark.rule("X3")
def test_an_error_of_the_library_without_a_field_of_ours_has_its_own_reason() -> None:
    assert field_reason("Expected `int` - at `$.hunter`", _FIELDS) == "wrong shape"


@pytest.mark.rule("F9")
def test_a_limit_of_the_account() -> None:
    def limit(status: str | None) -> dict[str, Any]:
        return {"type": "rate_limit_event", "rate_limit_info": {"status": status}}

    assert run(INIT, limit("allowed"))[1].hint is None
    assert run(INIT, limit("rejected"))[1].hint == "quota_exceeded"


@pytest.mark.rule("M0")
def test_other_lines_have_no_event() -> None:
    lines = [{"type": type_} for type_ in OTHERS.split()]
    question = {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool"}}
    other = {"type": "control_request", "request_id": "r", "request": {"subtype": "hook_callback"}}
    events = events_of(INIT, *lines, other, question)
    assert [event.kind for event in events] == ["status"] * 2
    assert events[-1].message == "permission denied: a tool"


@pytest.mark.rule("AG10", "X5")
def test_each_mcp_server_whose_tools_are_missing_is_named_once() -> None:
    states = {"a": "connected", "b": "failed", "c": "needs-auth", "d": "pending", "e\x00": "failed", "f": None}
    begin = {
        **INIT,
        "claude_code_version": "2.1.330",
        "mcp_servers": [{"name": name, "status": status} for name, status in states.items()],
    }
    named = [event.message for event in events_of(begin, DONE, begin, DONE) if event.message]
    assert named == ["MCP server failed: b", "MCP server needs a login: c", "MCP server failed: e\x00"]
    many = {**INIT, "mcp_servers": [{"name": "x" * 70_000, "status": "failed"}] * 100}
    sizes = [len(event.message) for event in events_of(many) if event.message]
    assert len(sizes) == 64
    assert max(sizes) < 10_000


@pytest.mark.rule("M6", "F10")
def test_the_counts_of_several_turns_are_added_up() -> None:
    first, second = {"a": 1, "b": 2, "odd": "x", "deep": {}, "many": 10**30}, {"a": 10}
    completion = run(INIT, {**DONE, "usage": first}, {**DONE, "usage": second})[1]
    assert (completion.usage, completion.run_usage) == ({"a": 10}, {"a": 11, "b": 2})
    completion = run(INIT, {**DONE}, {**DONE, "usage": second})[1]
    assert (completion.usage, completion.run_usage) == ({"a": 10}, None)


@pytest.mark.rule("T4")
@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ({"type": "brand_new"}, UnknownLine("brand_new", None)),
        ({"type": "brand_new", "subtype": "x"}, UnknownLine("brand_new", "x")),
        ({"type": "brand_new", "subtype": 7}, UnknownLine("brand_new", None)),
        (b'{"type":"new","subtype":"\xff"}\n', UnknownLine("new", None)),
        (b'{"type":"new","subtype":' + b"[" * 900 + b"]" * 900 + b"}\n", UnknownLine("new", None)),
    ],
)
def test_a_line_of_a_type_that_is_not_known(line: Any, unknown: UnknownLine) -> None:
    assert events_of(INIT, line)[1].data == unknown


@pytest.mark.rule("L4", "X2", "X3")
@rows(
    ("line", "reason"),
    [
        (b"not JSON\n", "parse error (redacted): malformed JSON at byte 4"),
        (b'{"type":"system"\n', "parse error (redacted): malformed JSON at byte 16"),
        (b'{"type":"system"} x\n', "parse error (redacted): malformed JSON at byte 19"),
        (b'{"type":"\xff"}\n', "parse error (redacted): invalid UTF-8"),
        (b"[]\n", "parse error (redacted): not an object"),
        (b"[" * 100_000 + b"\n", "parse error (redacted): not an object"),
        (b'{"type":"x","a":' + b"[" * 100_000 + b"\n", "parse error (redacted): nesting too deep"),
        (b"{}\n", "normalize error (redacted): missing field type"),
        (b'{"type":7}\n', "normalize error (redacted): missing field type"),
        (b'{"type":"assistant"}\n', "normalize error (redacted): missing field message"),
        (b'{"type":"assistant","message":7}\n', "normalize error (redacted): wrong type for field message"),
        (
            b'{"type":"assistant","message":{"content":[7]}}\n',
            "normalize error (redacted): wrong type for field content",
        ),
        (b'{"type":"system","error_status":1e999}\n', "parse error (redacted): number out of range"),
    ],
)
def test_a_line_that_is_not_of_the_cli(line: bytes, reason: str) -> None:
    events = events_of(INIT, line, DONE)
    size = len(line) - 1
    assert [event.kind for event in events] == ["status", "error", "status"]
    assert events[1].message == f"claude_code stream {reason} (line_bytes={size})"


@pytest.mark.rule("L1", "L2", "L4")
def test_blank_and_over_long_lines_and_half_surrogates() -> None:
    assert len(events_of(INIT, b" \n\n\r\n")) == 1
    half = rb'{"type":"assistant","message":{"content":"\ud800 \\ud800 \ud83d\ude00"}}' + b"\n"
    assert events_of(INIT, half)[1].text == "\ufffd \\ud800 \U0001f600"
    pipeline = Pipeline(ClaudeDecoder, max_line_bytes=10)
    [event] = pipeline.receive_data(b"x" * 50 + b"\n")
    assert event.message == "claude_code stream parse error (redacted): line longer than 10 bytes (line_bytes=50)"


FIELDS = (
    "type",
    "subtype",
    "message",
    "content",
    "id",
    "name",
    "input",
    "tool_use_id",
    "usage",
    "event",
    "delta",
    "text",
    *("status", "attempt", "retry_delay_ms", "claude_code_version", "model", "rate_limit_info", "utilization"),
    *("total_cost_usd", "model_usage_since_last_result", "costUSD", "tool_use_result", "backgroundTaskId", "isAsync"),
    *("task", "tasks", "taskId", "statusChange", "success", "todos", "subject", "parent_tool_use_id", "summary"),
)
NOTICES = ("init", "api_retry", "model_fallback", "permission_denied", "status", "hook_response", "task_notification")
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from(["assistant", "user", "system", "result", "stream_event", "tool_use", "tool_result", "t"]),
        st.sampled_from([*NOTICES, "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "completed", "rejected"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(FIELDS), st.text(max_size=3)), inner, max_size=4),
    ),
    max_leaves=12,
)


@pytest.mark.rule("L4", "AG3")
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.builds(
                lambda type_, fields: json.dumps({**fields, "type": type_}).encode(),
                st.sampled_from(["assistant", "user", "system", "result", "stream_event", "rate_limit_event", "other"]),
                st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
            ),
        ),
        max_size=6,
    )
)
def test_no_bytes_raise(lines: list[bytes]) -> None:
    events, completion = run(*(line + b"\n" for line in lines), full=True)
    assert completion.status == GOOD
    calls = sum(event.kind == "tool_call" for event in events)
    assert sum(event.kind == "tool_result" for event in events) <= calls + len(lines) * 40
