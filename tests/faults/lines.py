"""Generate lines of every type with every field that a rule names and values of every JSON type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from codex_adapter import Event, codex_pipeline

__all__ = ["RECORDED", "SAMPLES", "VALUES", "as_line", "events_of", "told", "with_each_field_replaced"]

RECORDED: Final = (Path(__file__).parents[2] / "fixtures" / "codex" / "0.169.0" / "shell_three.jsonl").read_bytes()
"""What the CLI really printed in a turn with three commands."""

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, -1, 0.5, 2**63, 10**40, "", "x" * 5_000, "\0\u2028\x1b[31m"),
    *([], [[]], [None], ["x"], [{}], {}, {"": None}, {"text": ["x"]}, {"message": {}}, {"type": "agent_message"}),
)


def _item(phase: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{phase}", "thread_id": "t", "turn_id": "u", "item": {"id": "a", "type": kind, **fields}}


SAMPLES: Final[tuple[dict[str, Any], ...]] = (
    {"type": "thread.started", "thread_id": "t"},
    {"type": "thread.resumed", "conversation_id": "t", "session_id": "t", "id": "t"},
    {"type": "turn.started", "thread_id": "t", "turn_id": "u"},
    {"type": "turn.completed", "turn_id": "u", "usage": {"input_tokens": 3}},
    {"type": "turn.failed", "error": {"message": "m"}},
    {"type": "error", "message": "m"},
    _item("completed", "agent_message", text="t"),
    _item("updated", "agent_message", delta={"text": "t"}),
    _item("completed", "reasoning", text="t"),
    _item("completed", "command_execution", command="c", aggregated_output="o", exit_code=1, status="failed"),
    _item("completed", "file_change", changes=[{"path": "/p", "kind": "add", "diff": "d"}], status="completed"),
    _item("completed", "mcp_tool_call", server="s", tool="t", arguments={}, result={}, error={"message": "m"}),
    _item(
        "completed",
        "collab_tool_call",
        tool="wait",
        sender_thread_id="s",
        receiver_thread_ids=["r"],
        prompt="p",
        agents_states={"r": {"status": "completed", "message": "m"}},
    ),
    _item("completed", "web_search", query="q", action={"type": "search", "query": "q"}),
    _item("updated", "todo_list", items=[{"text": "t", "completed": True}]),
    _item("completed", "error", message="m"),
    {**_item("failed", "command_execution", command="c"), "error": {"message": "m"}},
    {"type": "item.created", "item_type": "assistant_message", "item_id": "a", "content": {"text": "t"}},
    {"type": "item.delta", "item_type": "agent_message", "item_id": "a", "text_delta": "t"},
)


def as_line(value: Any) -> bytes:
    """One line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def with_each_field_replaced(value: Any, by: Any) -> list[Any]:
    """The value once for each field in it, however deep, with that field replaced, and once with it left out."""
    found: list[Any] = []
    if isinstance(value, dict):
        for name, inner in value.items():
            found += [{**value, name: by}, {key: kept for key, kept in value.items() if key != name}]
            found += [{**value, name: changed} for changed in with_each_field_replaced(inner, by)]
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            found += [[*value[:place], changed, *value[place + 1 :]] for changed in with_each_field_replaced(inner, by)]
    return found


def events_of(*reads: bytes) -> list[Event]:
    """The events of a stream, numbered without gaps."""
    pipeline = codex_pipeline()
    events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
    assert [event.seq for event in events] == list(range(len(events)))
    return events


def told(*reads: bytes) -> list[str | None]:
    """The text or the message of each event."""
    return [event.text or event.message for event in events_of(*reads)]
