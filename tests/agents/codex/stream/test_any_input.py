"""Test that any line yields one typed outcome, and that an error contains no data of a bad line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.stream.line_parser import parse_lines
from codex_adapter.agents.codex.stream.lines import ThreadEvent
from codex_adapter.core.bad_lines import BadLine

CANARY = "canary_4f1d"
NAMES = [
    *("type", "thread_id", "turn_id", "conversation_id", "session_id", "item", "usage", "error", "message", "id"),
    *("item_id", "item_type", "text", "text_delta", "content", "delta", "$delta", "command", "aggregated_output"),
    *("exit_code", "status", "stdout", "changes", "path", "kind", "diff", "server", "server_name", "tool", "arguments"),
    *("result", "receiver_thread_ids", "prompt", "agents_states", "query", "action", "items", "completed", CANARY),
]
IsCanonical = Callable[[str], bool]


def parse(line: bytes) -> ThreadEvent | BadLine:
    return parse_lines([line])[0]


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=5) | st.just(CANARY),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from(NAMES), values, max_size=4),
    max_leaves=8,
)
LINE_TYPES = [
    *("thread.started", "turn.started", "turn.completed", "turn.failed", "error", "item.started", "item.completed"),
    *("item.updated", "item.failed", "item.created", "item.delta", "thread.resumed", CANARY),
]
ITEM_TYPES = [
    *("agent_message", "reasoning", "command_execution", "file_change", "mcp_tool_call", "collab_tool_call"),
    *("web_search", "todo_list", "error", "assistant_message", CANARY),
]
ITEMS = st.builds(
    lambda fields, item_type: {**fields, "type": item_type},
    st.dictionaries(st.sampled_from(NAMES), JSON_VALUES, max_size=5),
    st.sampled_from(ITEM_TYPES),
)
LINES = st.builds(
    lambda fields, item, line_type: {**fields, **item, "type": line_type},
    st.dictionaries(st.sampled_from(NAMES), JSON_VALUES, max_size=5),
    st.builds(lambda item: {"item": item}, ITEMS | JSON_VALUES) | st.just({}),
    st.sampled_from(LINE_TYPES),
)


@pytest.mark.fault(
    "stream",
    "A line contains an arbitrary JSON value",
    "The decoder returns one event, or one error without data of the line",
)
@pytest.mark.rule("L4", "X1", "X3")
@given(JSON_VALUES | LINES)
def test_any_json_value_has_one_typed_outcome_that_tells_nothing_of_it(is_canonical: IsCanonical, value: Any) -> None:
    found = parse(json.dumps(value, ensure_ascii=False).encode())
    if isinstance(found, BadLine):
        assert is_canonical(found.message)
        assert CANARY not in found.message


@pytest.mark.rule("L4", "X1", "X3")
@given(st.binary(max_size=60))
def test_any_bytes_have_one_typed_outcome(is_canonical: IsCanonical, line: bytes) -> None:
    found = parse_lines([line])
    assert len(found) == bool(line.strip())
    assert all(is_canonical(event.message) for event in found if isinstance(event, BadLine))


@pytest.mark.fault(
    "stream",
    "Some bytes of a line are replaced",
    "The decoder returns one event, or one error without data of the line",
)
@pytest.mark.rule("L4", "X1", "X3")
@given(st.data())
def test_a_damaged_line_has_one_typed_outcome_that_tells_nothing_of_it(
    is_canonical: IsCanonical, data: st.DataObject
) -> None:
    line = bytearray(json.dumps(data.draw(LINES)).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(line)))
        line[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=3))
    found = parse(bytes(line))
    if isinstance(found, BadLine):
        assert is_canonical(found.message)
        assert CANARY not in found.message


@pytest.mark.rule("T5")
@given(st.dictionaries(st.text(min_size=1, max_size=8).map(lambda name: f"x-{name}"), JSON_VALUES, max_size=4))
def test_unknown_fields_change_nothing(unknown: dict[str, Any]) -> None:
    for known in (
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.completed", "usage": {"input_tokens": 1}},
        {"type": "error", "message": "m"},
        {"type": "item.completed", "item": {"id": "a", "type": "agent_message", "text": "t"}},
    ):
        assert parse(json.dumps({**unknown, **known}).encode()) == parse(json.dumps(known).encode())
