"""Test the tools facet: the name of the tool, its status, and the size of its output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.records import encode_events

from ....rows import rows
from ...recordings import each_recording

TOOLS = ("command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search")
NO_BYTES = {"stdout": 0, "stderr": 0, "diff": 0, "result": 0}
EACH_TOOL = pytest.mark.parametrize("item_type", TOOLS)


def records(*lines: bytes | dict[str, Any]) -> list[dict[str, Any]]:
    """What the lines give, the end of the stream not yet come."""
    pipeline = codex_pipeline()
    stdout = b"\n".join(
        line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode() for line in lines
    )
    events = pipeline.receive_data(stdout + b"\n")
    return [json.loads(line) for line in encode_events(events).split(b"\n") if line]


def tool(phase: str, **item: Any) -> dict[str, Any]:
    """The facet's tool of one item line."""
    (record,) = records({"type": f"item.{phase}", "item": {"id": "item_0", **item}})
    assert record["data"].keys() == {"schema", "tool"}
    found: dict[str, Any] = record["data"]["tool"]
    return found


def _closes(record: dict[str, Any]) -> bool:
    """Whether an event closes a call that the CLI has left open."""
    return bool(record["kind"] == "tool_result" and record["data"]["tool"]["status"] == "unknown")


@pytest.mark.rule("M0", "M3")
@EACH_TOOL
def test_a_tool_call_becomes_a_tool_result_when_it_is_completed_or_failed(item_type: str) -> None:
    kinds = {"started": "tool_call", "created": "tool_call", "updated": "tool_call", "delta": "tool_call"}
    kinds |= {"completed": "tool_result", "failed": "tool_result"}
    phases = {"started": "start", "created": "start", "completed": "complete", "failed": "fail"}
    for line_phase, kind in kinds.items():
        (record,) = records({"type": f"item.{line_phase}", "item": {"id": "item_0", "type": item_type}})
        assert (record["kind"], record["channel"]) == (kind, "tool")
        assert record.keys() == {"type", "seq", "agent_kind", "kind", "channel", "data"}
        assert record["data"]["schema"] == "agent_api.tools.structured.v1"
        assert record["data"]["tool"]["phase"] == phases.get(line_phase, "delta")


@pytest.mark.rule("M3")
@EACH_TOOL
def test_the_facet_has_all_its_fields_in_their_order(item_type: str) -> None:
    found = tool("started", type=item_type)
    order = ["backend_item_id", "thread_id", "turn_id", "kind", "phase", "status", "exit_code", "bytes", "tool_name"]
    assert list(found) == [*order, "tool_use_id"]
    assert list(found["bytes"]) == ["stdout", "stderr", "diff", "result"]
    assert found["kind"] == item_type
    assert found["backend_item_id"] == "item_0"
    assert found["bytes"] == NO_BYTES
    assert (found["thread_id"], found["turn_id"], found["exit_code"], found["tool_use_id"]) == (None, None, None, None)


@pytest.mark.rule("M3")
@EACH_TOOL
@pytest.mark.parametrize("phase", ["started", "updated", "completed"])
@pytest.mark.parametrize(
    ("own", "told"),
    [
        ("pending", "pending"),
        ("in_progress", "running"),
        ("running", "running"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("declined", "failed"),
        ("paused", "unknown"),
        ("Completed", "unknown"),
    ],
)
def test_the_status_is_the_items_own_whatever_the_phase(item_type: str, phase: str, own: str, told: str) -> None:
    assert tool(phase, type=item_type, status=own)["status"] == told


@pytest.mark.rule("M3")
@EACH_TOOL
def test_an_item_without_a_status_runs_until_it_is_completed(item_type: str) -> None:
    assert tool("started", type=item_type)["status"] == "running"
    assert tool("updated", type=item_type)["status"] == "running"
    assert tool("completed", type=item_type)["status"] == "completed"


@pytest.mark.rule("M3")
@rows(
    ("item", "status"),
    [
        ({"type": "command_execution", "exit_code": 1}, "failed"),
        ({"type": "command_execution", "exit_code": -1}, "failed"),
        ({"type": "command_execution", "exit_code": 0}, "completed"),
        ({"type": "command_execution", "exit_code": None}, "completed"),
        ({"type": "file_change", "exit_code": 1}, "failed"),
        ({"type": "file_change", "exit_code": 0}, "completed"),
        ({"type": "mcp_tool_call", "error": {"message": "boom"}}, "failed"),
        ({"type": "mcp_tool_call", "error": None}, "completed"),
        ({"type": "mcp_tool_call", "result": {"content": []}}, "completed"),
    ],
    ids=str,
)
def test_an_item_without_a_status_is_completed_as_its_outcome_says(item: dict[str, Any], status: str) -> None:
    assert tool("completed", **item)["status"] == status
    assert tool("started", **item)["status"] == "running"


@pytest.mark.rule("M0", "M3")
@EACH_TOOL
@pytest.mark.parametrize("own", [None, "completed", "in_progress", "paused"])
def test_a_failed_line_is_a_failed_tool_whatever_the_item_says(item_type: str, own: str | None) -> None:
    found = tool("failed", type=item_type, **({} if own is None else {"status": own}))
    assert (found["phase"], found["status"]) == ("fail", "failed")


@pytest.mark.rule("M3")
@rows("exit_code", [None, 0, 3, -1, 137, 2**31, -(2**63), 2**63 - 1])
def test_the_exit_code_is_the_commands(exit_code: int | None) -> None:
    assert tool("completed", type="command_execution", exit_code=exit_code, status="failed")["exit_code"] == exit_code


@pytest.mark.rule("M3")
@rows(
    ("item", "sizes"),
    [
        ({"type": "command_execution", "aggregated_output": "a\u00e9\u20ac\U0001f600\n"}, {"stdout": 11}),
        ({"type": "command_execution", "stdout": "\u00e9", "stderr": "\u20ac"}, {"stdout": 2, "stderr": 3}),
        (
            {"type": "command_execution", "aggregated_output": "ab", "stdout": "a", "stderr": "b"},
            {"stdout": 2, "stderr": 1},
        ),
        ({"type": "command_execution", "stderr": "b"}, {"stderr": 1}),
        ({"type": "file_change", "diff": "+\u00e9"}, {"diff": 3}),
        ({"type": "file_change", "stdout": "a", "stderr": "bc"}, {"stdout": 1, "stderr": 2}),
        ({"type": "file_change", "changes": [{"path": "/a", "kind": "add"}]}, {}),
        ({"type": "mcp_tool_call", "result": {"content": []}, "arguments": {"a": 1}}, {"result": 14}),
        ({"type": "mcp_tool_call", "result": "\u00e9"}, {"result": 8}),
        ({"type": "mcp_tool_call", "result": None}, {}),
        ({"type": "mcp_tool_call", "result": 1234}, {"result": 4}),
        ({"type": "mcp_tool_call", "error": {"message": "boom"}}, {}),
        ({"type": "collab_tool_call", "agents_states": {"a": 1}}, {"result": 7}),
        ({"type": "collab_tool_call", "agents_states": None, "prompt": "p"}, {}),
        ({"type": "web_search", "query": "q", "action": {"type": "search"}}, {}),
    ],
    ids=str,
)
def test_sizes_are_bytes_of_utf_8(item: dict[str, Any], sizes: dict[str, int]) -> None:
    assert tool("completed", **item)["bytes"] == {**NO_BYTES, **sizes}


@pytest.mark.rule("M3")
@pytest.mark.parametrize(
    ("item", "name"),
    [
        ({"type": "mcp_tool_call", "server": "srv", "tool": "echo"}, "srv/echo"),
        ({"type": "collab_tool_call", "tool": "spawn_agent"}, "spawn_agent"),
        ({"type": "command_execution", "command": "ls"}, None),
        ({"type": "file_change"}, None),
        ({"type": "web_search", "query": "q"}, None),
    ],
    ids=str,
)
def test_the_name_of_a_tool_is_told_where_it_has_one(item: dict[str, Any], name: str | None) -> None:
    assert tool("started", **item)["tool_name"] == name


@pytest.mark.rule("M3", "T3")
@EACH_TOOL
def test_thread_and_turn_come_from_the_context(item_type: str) -> None:
    item = {"type": "item.started", "item": {"id": "item_7", "type": item_type}}
    before, *_, after = records(
        {"type": "turn.started"}, item, {"type": "thread.started", "thread_id": "T"}, {"type": "turn.started"}, item
    )[1:]
    ids = ("backend_item_id", "thread_id", "turn_id")
    assert [before["data"]["tool"][name] for name in ids] == ["item_7", None, "synthetic-turn-1"]
    assert [after["data"]["tool"][name] for name in ids] == ["item_7", "T", "synthetic-turn-2"]


@pytest.mark.rule("T3", "M5")
@pytest.mark.parametrize("useless", ["", "  ", "x" * 1025])
def test_a_thread_id_that_counts_as_not_known_is_not_told(useless: str) -> None:
    item = {"type": "item.started", "item": {"id": "a", "type": "web_search"}, "thread_id": useless}
    assert records(item)[-1]["data"]["tool"]["thread_id"] is None


@pytest.mark.rule("M7")
@EACH_TOOL
def test_nothing_of_input_and_output_is_told_unless_asked_for(item_type: str) -> None:
    canary: Any = "canary"
    fields: dict[str, Any] = {
        **dict.fromkeys(("command", "aggregated_output", "stdout", "stderr", "diff", "query", "prompt"), canary),
        **{key: {canary: canary} for key in ("arguments", "result", "error", "action", "agents_states")},
        "changes": [{"path": canary, "kind": canary}],
        "receiver_thread_ids": [canary],
        "sender_thread_id": canary,
    }
    for phase in ("started", "updated", "completed", "failed"):
        line = {"type": f"item.{phase}", "item": {"id": "a", "type": item_type, **fields}, "error": {"message": canary}}
        assert canary not in json.dumps(records(line))


@pytest.mark.rule("M3")
@each_recording("codex")
def test_recorded_tools_stand_as_their_items_say(recording: Path, returncode: int) -> None:
    lines = [line for line in recording.read_bytes().split(b"\n") if line]
    told = {"in_progress": "running", "completed": "completed", "failed": "failed", "declined": "failed"}
    found_of_lines = [record for record in records(*lines) if not _closes(record)]
    for line, record in zip(map(json.loads, lines), found_of_lines, strict=True):
        item = line.get("item", {})
        if item.get("type") in TOOLS:
            found = record["data"]["tool"]
            done = line["type"] == "item.completed"
            assert found["status"] == told[item.get("status") or ("completed" if done else "in_progress")]
            assert found["phase"] == ("complete" if done else "start")
            assert (found["kind"], found["backend_item_id"]) == (item["type"], item["id"])
            assert found["exit_code"] == item.get("exit_code")
            assert found["bytes"]["stdout"] == len(item.get("aggregated_output", "").encode())
    assert returncode is not None
