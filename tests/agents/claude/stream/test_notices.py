"""Test notices of the CLI: retries, limits, release and model, and what else happens in a turn."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter.events import AgentInfo, RateLimit, Retry

from ....rows import rows
from .stream_lines import DONE, INIT, run, system

SECRET = "canary-of-a-notice-Zr8v"


@pytest.mark.rule("M12", "F9", "K2")
def test_a_retry_is_a_status_with_its_numbers_and_the_hint() -> None:
    line = system("api_retry", attempt=1, max_retries=9, retry_delay_ms=603.4, error_status=529, error="overloaded")
    events, completion = run(INIT, line)
    assert (events[1].kind, events[1].message) == ("status", "model request failed, trying again")
    assert events[1].data == Retry(1, 9, 0.603, 529, "overloaded")
    assert completion.hint == "overloaded"
    for odd in ({}, {"retry_delay_ms": -5}):
        assert run(INIT, system("api_retry", **odd))[0][1].data == Retry()


@pytest.mark.rule("M13", "F9")
@pytest.mark.parametrize(
    ("info", "facet", "message"),
    [
        ({"status": "allowed", "isUsingOverage": False}, RateLimit("allowed"), None),
        (
            {"status": "allowed_warning", "resetsAt": 1_999_999_999, "rateLimitType": "five_hour", "utilization": 0.93},
            RateLimit("warning", "five_hour", 1_999_999_999, 0.93),
            "limit of the account nearly reached",
        ),
        (
            {"status": "rejected", "rateLimitType": "seven_day opus"},
            RateLimit("rejected", "seven_day", hint="quota_exceeded"),
            "limit of the account reached",
        ),
        ({"status": "new", "resetsAt": -1, "utilization": -1, "rateLimitType": "\u00e9"}, RateLimit("unknown"), None),
        ({"rateLimitType": SECRET}, RateLimit("unknown"), None),
    ],
)
def test_a_limit_of_the_account(info: Any, facet: RateLimit, message: str | None) -> None:
    events, completion = run(INIT, {"type": "rate_limit_event", "rate_limit_info": info}, secrets=(SECRET,))
    assert (events[1].kind, events[1].data, events[1].message) == ("status", facet, message)
    assert completion.hint == facet.hint


@pytest.mark.rule("M14", "M5")
def test_release_and_model_are_reported_when_they_change() -> None:
    init = {**INIT, "claude_code_version": "2.1.330", "model": "opus"}
    fallback = system("model_fallback", fallback_model="sonnet", original_model="opus")
    events, _ = run(init, DONE, init, fallback, DONE, {**init, "model": SECRET + "x" * 200}, secrets=(SECRET,))
    found = [(event.message, event.data) for event in events if isinstance(event.data, AgentInfo)]
    assert found[:2] == [(None, AgentInfo("2.1.330", "opus")), ("model replaced", AgentInfo("2.1.330", "sonnet"))]
    last = found[2][1]
    assert isinstance(last, AgentInfo)
    assert SECRET not in str(last.model)
    assert len(str(last.model)) <= 128
    assert run(system("model_fallback", fallback_model="sonnet"))[0][0].data == AgentInfo(None, "sonnet")


@pytest.mark.rule("M0", "M1", "X5", "AG10")
@rows(
    ("line", "messages"),
    [
        (system("permission_denied", tool_name="Bash"), ["permission denied: Bash"]),
        (system("permission_denied"), ["permission denied: a tool"]),
        (system("permission_denied", tool_name=SECRET), ["permission denied: ***"]),
        (system("status", status="compacting"), ["compaction started"]),
        (system("status", status="requesting"), []),
        (system("status", compact_result="failed"), ["compaction failed"]),
        (system("status", compact_result="success"), []),
        (system("compact_boundary"), ["compaction completed"]),
        (system("hook_response", outcome="success"), []),
        (system("hook_response", outcome="error"), ["hook failed"]),
        (system("hook_response"), []),
        (system("informational", level="notice", content=f"about {SECRET}"), ["about ***"]),
        (system("notification", text="news"), ["news"]),
        (system("thinking_tokens"), []),
        (system("background_tasks_changed"), []),
        (system("model_refusal_no_fallback", original_model="opus", request_id=None, content=""), []),
        (system("task_started", description="x"), []),
    ],
)
def test_other_notices_have_a_message_or_no_event(line: Any, messages: list[str]) -> None:
    events, _ = run(INIT, line, secrets=(SECRET,))
    assert [(event.kind, event.message) for event in events[1:]] == [("status", message) for message in messages]


@pytest.mark.rule("B3", "X5")
def test_a_long_message_is_masked_and_cut() -> None:
    long = f"{SECRET} {'x' * 10_000} {SECRET}"
    for line in (system("notification", text=long), system("permission_denied", tool_name=long)):
        message = run(INIT, line, secrets=(SECRET,))[0][1].message
        assert message is not None
        assert len(message.encode()) <= 4_096
        assert SECRET not in message
