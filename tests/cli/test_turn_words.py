"""Test a turn as text for people: no control codes, and no text that makes it fail."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.cli.present.lines import Line, plain_text
from codex_adapter.cli.present.turn_narration import TurnNarrator
from codex_adapter.protocols.turns.messages import (
    AgentEvent,
    CompleteEvent,
    LogEvent,
    MessageDeltaEvent,
    MessageEvent,
    RunResult,
    ToolCallEvent,
    ToolResultEvent,
)

pytestmark = pytest.mark.rule("C13", "C7")

COMMON: Any = {"ts": "", "seq": 1, "external_session_id": "s", "external_run_id": "r"}
TEXTS = st.text(st.sampled_from("ab\n\r\t\x1b\x9b\x00\u202e[2J") | st.characters(codec="utf-8"), max_size=20)
NAMES = st.sampled_from(["command", "changes", "query", "path", "kind", "output", "error", "exitCode", "items", "text"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | TEXTS, inner, max_size=4),
    max_leaves=8,
)
EVENTS = st.one_of(
    st.builds(lambda text: MessageEvent(**COMMON, role="assistant", content=text), TEXTS),
    st.builds(lambda text: MessageDeltaEvent(**COMMON, role="assistant", delta=text), TEXTS),
    st.builds(
        lambda id_, name, value: ToolCallEvent(**COMMON, tool_use_id=id_, tool_name=name, input=value),
        TEXTS,
        TEXTS,
        VALUES,
    ),
    st.builds(
        lambda id_, name, value, bad: ToolResultEvent(
            **COMMON, tool_use_id=id_, tool_name=name, output=value, is_error=bad
        ),
        TEXTS,
        TEXTS,
        VALUES,
        st.booleans(),
    ),
    st.builds(
        lambda level, text, value: LogEvent(**COMMON, level=level, message=text, fields=value),
        st.sampled_from(["debug", "info", "warn", "error"]),
        TEXTS | st.just("plan"),
        st.none() | st.fixed_dictionaries({"items": VALUES}),
    ),
    st.builds(lambda well: CompleteEvent(**COMMON, result=RunResult(success=well)), st.booleans()),
)


def told(*events: AgentEvent) -> list[Line]:
    """The lines for these events."""
    words = TurnNarrator()
    return [line for event in events for line in words.narrate(event)]


@given(st.lists(EVENTS, max_size=6))
def test_whatever_is_told_is_safe_text(events: list[AgentEvent]) -> None:
    text = plain_text(told(*events)).decode()
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text) is None


def test_a_message_that_was_cut_off_is_shown_as_far_as_it_came() -> None:
    growing = [MessageDeltaEvent(**COMMON, role="assistant", delta=text) for text in ("So ", "far")]
    failed = CompleteEvent(**COMMON, result=RunResult(success=False))
    assert told(*growing, failed) == [Line("answer", "So far"), Line("failed", "the turn failed")]
    whole = MessageEvent(**COMMON, role="assistant", content="So far, so good.")
    well = CompleteEvent(**COMMON, result=RunResult(success=True))
    assert told(*growing, whole, well) == [Line("answer", "So far, so good."), Line("ok", "the turn is complete")]


def test_a_call_is_named_by_what_it_does_and_a_failed_one_shows_the_end_of_its_output() -> None:
    inputs: list[tuple[str, Any, str]] = [
        ("shell", {"command": "/bin/bash -lc 'make test'"}, "$ make test"),
        ("apply_patch", {"changes": [{"path": "a", "kind": "add"}, {"path": "b"}]}, "files: add a, ?"),
        ("web_search", {"query": "what"}, "search: what"),
        ("notes/read", {"arguments": {"query": 1}}, "notes/read"),
    ]
    for name, given_, label in inputs:
        call = ToolCallEvent(**COMMON, tool_use_id="1", tool_name=name, input=given_)
        assert told(call) == [Line("started", label)]
    output = {"output": "".join(f"line {number}\n" for number in range(9)), "exitCode": 2}
    result = ToolResultEvent(**COMMON, tool_use_id="1", tool_name="notes/read", output=output, is_error=True)
    assert told(call, result)[1:] == [
        Line("failed", "notes/read (exit 2)"),
        *(Line("output", f"line {number}") for number in range(4, 9)),
    ]


def test_plans_and_warnings_are_told_and_what_is_for_debugging_is_not() -> None:
    steps = [{"text": "One", "completed": True}, {"text": "Two", "completed": False}, None]
    plan = LogEvent(**COMMON, level="info", message="plan", fields={"items": steps})
    assert told(plan) == [Line("plan", "[x] One"), Line("plan", "[ ] Two"), Line("plan", "[ ]")]
    assert told(LogEvent(**COMMON, level="warn", message="Hm.")) == [Line("warning", "Hm.")]
    assert told(LogEvent(**COMMON, level="debug", message="usage")) == []
