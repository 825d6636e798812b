"""Test that older formats and wrapper formats yield the same events as the current format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter.agents.codex.stream.context import Context
from codex_adapter.agents.codex.stream.line_parser import parse_lines
from codex_adapter.agents.codex.stream.lines import (
    AgentMessage,
    ErrorItem,
    ItemFailed,
    ItemUpdated,
    Reasoning,
    ThreadEvent,
)
from codex_adapter.core.bad_lines import BadLine

from ....rows import rows

MESSAGE: dict[str, Any] = {"type": "agent_message", "id": "a", "text": "words"}
COMMAND: dict[str, Any] = {"type": "command_execution", "id": "c", "command": "ls", "exit_code": 3, "stdout": "out"}
MCP: dict[str, Any] = {"type": "mcp_tool_call", "id": "m", "server": "s", "tool": "t", "arguments": {"a": [1, None]}}


def parse(line: dict[str, Any]) -> ThreadEvent:
    (event,) = parse_lines([json.dumps(line, separators=(",", ":")).encode()])
    assert not isinstance(event, BadLine), event.message
    return event


def item_line(line_type: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": line_type, "item": item}


def flat(line_type: str, item: dict[str, Any]) -> dict[str, Any]:
    """The item's fields at the top of the line."""
    fields = {{"type": "item_type", "id": "item_id"}.get(key, key): value for key, value in item.items()}
    return {"type": line_type, **fields}


@pytest.mark.rule("T2")
@rows("line_type", ["thread.started", "thread.resumed", "session.created"])
@rows("key", ["thread_id", "conversation_id", "session_id", "id"])
def test_a_thread_starts_under_any_of_its_names(line_type: str, key: str) -> None:
    event = parse({"type": line_type, key: "T", "model": "m"})
    assert event == parse({"type": "thread.started", "thread_id": "T"})


@pytest.mark.rule("T2")
def test_the_first_of_several_thread_ids_counts() -> None:
    for line in (
        {"id": "d", "session_id": "c", "conversation_id": "b", "thread_id": "a"},
        {"id": "d", "session_id": "c", "conversation_id": "a", "thread_id": None},
        {"id": "d", "session_id": "a"},
    ):
        assert parse({"type": "thread.resumed", **line}).thread_id == "a"


@pytest.mark.rule("T2")
@rows(
    ("older", "today"),
    [
        ("item.created", "item.started"),
        ("item.started", "item.started"),
        ("item.updated", "item.updated"),
        ("item.completed", "item.completed"),
        ("item.failed", "item.failed"),
    ],
)
@rows("item", [MESSAGE, COMMAND, MCP], ids=lambda item: item["type"])
def test_an_item_line_is_understood_flat_and_nested(older: str, today: str, item: dict[str, Any]) -> None:
    expected = parse(item_line(today, item))
    assert parse(item_line(older, item)) == expected
    assert parse(flat(older, item)) == expected
    assert (
        parse(item_line(older, {**{"item_type": item["type"]}, **{k: v for k, v in item.items() if k != "type"}}))
        == expected
    )


@pytest.mark.rule("T2")
@rows(
    "item",
    [
        {"type": "reasoning", "id": "r", "text": "thought"},
        COMMAND,
        {
            "type": "file_change",
            "id": "f",
            "changes": [{"path": "/a", "kind": "add"}],
            "diff": "+a",
            "status": "completed",
        },
        {**MCP, "result": {"content": []}, "error": None, "status": "failed"},
        {"type": "collab_tool_call", "id": "k", "tool": "wait", "agents_states": {"x": {"status": "completed"}}},
        {"type": "web_search", "id": "w", "query": "q", "action": {"type": "search", "query": "q"}},
        {"type": "todo_list", "id": "l", "items": [{"text": "one", "completed": True}]},
        {"type": "error", "id": "e", "message": "careful"},
    ],
    ids=lambda item: item["type"],
)
def test_every_item_type_may_be_flat_or_have_its_fields_in_content(item: dict[str, Any]) -> None:
    expected = parse(item_line("item.completed", item))
    assert parse(flat("item.completed", item)) == expected
    content = {key: value for key, value in item.items() if key not in ("type", "id")}
    wrapped = {"type": item["type"], "id": item["id"], "content": content}
    assert parse(flat("item.completed", wrapped)) == expected


@pytest.mark.rule("T2")
@pytest.mark.parametrize("content", ["words", {"text": "words"}, {"type": "output_text", "text": "words"}])
def test_content_is_a_text_or_an_object_with_the_items_fields(content: Any) -> None:
    item = {"type": "agent_message", "id": "a", "content": content}
    expected = parse(item_line("item.completed", MESSAGE))
    assert parse(item_line("item.completed", item)) == expected
    assert parse(flat("item.completed", item)) == expected


@pytest.mark.rule("T2")
def test_what_stands_on_the_item_itself_wins_over_its_content() -> None:
    item = {**MESSAGE, "content": {"text": "other", "id": "other"}}
    assert parse(flat("item.completed", item)) == parse(item_line("item.completed", MESSAGE))


@pytest.mark.rule("T2")
def test_an_assistant_message_is_an_agent_message() -> None:
    for older in (
        {**MESSAGE, "type": "assistant_message"},
        {"id": "a", "item_type": "assistant_message", "text": "words"},
    ):
        assert parse(item_line("item.completed", older)) == parse(item_line("item.completed", MESSAGE))


@pytest.mark.rule("T2", "M2")
@rows(
    "fields",
    [
        {"delta": "frag"},
        {"delta": {"text": "frag"}},
        {"delta": {"text_delta": "frag"}},
        {"text_delta": "frag"},
        {"text": "frag"},
    ],
    ids=str,
)
@rows("kind", [AgentMessage, Reasoning])
def test_an_item_delta_is_an_update_with_a_fragment(
    fields: dict[str, Any], kind: type[AgentMessage] | type[Reasoning]
) -> None:
    item = {"type": "agent_message" if kind is AgentMessage else "reasoning", "id": "a", **fields}
    for line in (item_line("item.delta", item), flat("item.delta", item)):
        event = parse(line)
        assert isinstance(event, ItemUpdated)
        assert event.item == kind(id="a", text="frag", delta=True)


@pytest.mark.rule("T2", "M2")
@pytest.mark.parametrize("fields", [{"delta": "frag"}, {"text_delta": "frag"}], ids=str)
def test_an_update_with_nothing_but_a_delta_is_a_fragment(fields: dict[str, Any]) -> None:
    event = parse(item_line("item.updated", {"type": "agent_message", "id": "a", **fields}))
    assert isinstance(event, ItemUpdated)
    assert event.item == AgentMessage(id="a", text="frag", delta=True)


@pytest.mark.rule("T1", "T2", "T5")
def test_a_stream_may_go_back_and_forth_between_the_shapes() -> None:
    older, today = (
        json.dumps(line).encode() for line in (flat("item.completed", MESSAGE), item_line("item.completed", MESSAGE))
    )
    first, *others = parse_lines([older, today, older, today, today, older, older])
    assert not isinstance(first, BadLine)
    assert others == [first] * 6


@pytest.mark.rule("T2")
def test_a_delta_of_a_tool_has_the_tools_fields() -> None:
    item = {"type": "command_execution", "id": "c", "delta": {"command": "ls", "stdout": "out", "exit_code": 3}}
    assert parse(flat("item.delta", item)) == parse(flat("item.delta", COMMAND))


@pytest.mark.rule("T2")
def test_a_server_and_a_tool_may_be_called_names() -> None:
    older = {"server_name": "s", "tool_name": "t", "arguments": MCP["arguments"]}
    assert parse(flat("item.started", {"type": "mcp_tool_call", "id": "m", **older})) == parse(
        item_line("item.started", MCP)
    )


@pytest.mark.rule("T2")
@pytest.mark.parametrize(
    "item", [{"id": "a"}, {"id": "a", "type": "agent_message"}, {"id": "a", "type": "todo_list"}], ids=str
)
def test_a_failed_item_needs_no_more_than_its_id(item: dict[str, Any]) -> None:
    error = {"message": "boom"}
    for line in ({**item_line("item.failed", item), "error": error}, {**flat("item.failed", item), "error": error}):
        event = parse(line)
        assert isinstance(event, ItemFailed)
        assert event.item.id == "a"
        assert event.error == error


@pytest.mark.rule("T2")
def test_a_failed_item_without_a_type_is_an_error() -> None:
    event = parse({"type": "item.failed", "item_id": "a", "message": "boom"})
    assert isinstance(event, ItemFailed)
    assert event.item == ErrorItem(id="a", message="boom")


@pytest.mark.rule("T2", "T3")
@pytest.mark.parametrize("key", ["thread_id", "conversation_id"])
def test_ids_of_the_line_are_not_taken_for_fields_of_a_flat_item(key: str) -> None:
    event = parse({**flat("item.created", MESSAGE), key: "T", "turn_id": "U"})
    Context().place(event)
    assert (event.thread_id, event.turn_id) == ("T", "U")


@pytest.mark.fault(
    "stream", "A line of an older format lacks a field or has a wrong one", "The decoder returns one normalize error"
)
@pytest.mark.rule("T4")
@rows(
    ("line", "reason"),
    [
        ({"type": "thread.resumed"}, "missing field thread_id"),
        ({"type": "thread.resumed", "id": 5}, "wrong type for field thread_id"),
        ({"type": "item.created"}, "missing field type"),
        ({"type": "item.created", "item_type": "agent_message", "text": "t"}, "missing field id"),
        ({"type": "item.delta", "item_type": "agent_message", "item_id": "a"}, "missing field text"),
        ({"type": "item.delta", "item_type": "agent_message", "item_id": "a", "delta": 5}, "missing field text"),
        ({"type": "item.created", "item_type": "agent_message", "item_id": 5, "text": "t"}, "wrong type for field id"),
        ({"type": "item.created", "item": []}, "wrong type for field item"),
        ({"type": "item.failed", "item": "boom"}, "wrong type for field item"),
        ({"type": "item.failed", "error": {"message": "boom"}}, "missing field id"),
    ],
    ids=str,
)
def test_an_older_shape_with_a_field_missing_or_wrong_is_a_normalize_error(line: dict[str, Any], reason: str) -> None:
    raw = json.dumps(line).encode()
    assert parse_lines([raw])[0] == BadLine(
        f"codex stream normalize error (redacted): {reason} (line_bytes={len(raw)})"
    )


@pytest.mark.rule("T2", "L4")
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'"\xff"', "parse error (redacted): invalid UTF-8"),
        (b"[" * 100_000 + b"]" * 100_000, "parse error (redacted): nesting too deep"),
        (b"9" * 6_000, "parse error (redacted): number out of range"),
        (b"7", "normalize error (redacted): wrong type for field text"),
        (b'["t"]', "normalize error (redacted): wrong type for field text"),
    ],
    ids=["no UTF-8", "deep", "huge", "a number", "a list"],
)
def test_a_bad_value_in_an_older_shape_is_as_bad_as_in_todays(value: bytes, reason: str) -> None:
    for line in (
        b'{"type":"item.created","item_type":"reasoning","item_id":"a","text":%b}' % value,
        b'{"type":"item.created","item":{"type":"reasoning","id":"a","text":%b}}' % value,
    ):
        assert parse_lines([line]) == [BadLine(f"codex stream {reason} (line_bytes={len(line)})")]
