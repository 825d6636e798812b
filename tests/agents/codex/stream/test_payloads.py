"""Test tool arguments and results in events: only on request, truncated, and never instead of the facet."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.records import encode_events

from ....rows import rows

KIB = 1024
LIMIT = 16 * KIB


def facet(phase: str = "completed", **item: Any) -> dict[str, Any]:
    line = {"type": f"item.{phase}", "item": {"id": "item_0", **item}}
    stdout = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    (event,) = codex_pipeline(full_payloads=True).receive_data(stdout)
    data: dict[str, Any] = json.loads(encode_events([event]))["data"]
    assert len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()) <= 65_536
    return data


def whole(**texts: str) -> dict[str, dict[str, Any]]:
    return {name: {"text": text, "truncated": False} for name, text in texts.items()}


@pytest.mark.rule("M7")
@rows(
    ("item", "asked", "answered"),
    [
        (
            {"type": "command_execution", "command": "bash -lc 'ls'", "aggregated_output": "a\nb\n"},
            {"command": "bash -lc 'ls'"},
            {"aggregated_output": "a\nb\n"},
        ),
        ({"type": "command_execution", "command": "ls"}, {"command": "ls"}, {}),
        (
            {"type": "command_execution", "command": "ls", "stdout": "out", "stderr": "err"},
            {"command": "ls"},
            {"aggregated_output": "outerr"},
        ),
        (
            {
                "type": "file_change",
                "changes": [{"path": "/a\u00e9", "kind": "add"}],
                "diff": "+a",
                "stderr": "careful",
            },
            {"changes": '[{"path":"/a\u00e9","kind":"add"}]'},
            {"aggregated_output": "careful", "result": "+a"},
        ),
        ({"type": "file_change", "changes": []}, {"changes": "[]"}, {}),
        (
            {"type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": {"a": "\u00e9"}, "result": None},
            {"server": "s", "tool": "t", "arguments": '{"a":"\u00e9"}'},
            {},
        ),
        (
            {"type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": None, "result": {"content": [1]}},
            {"server": "s", "tool": "t"},
            {"result": '{"content":[1]}'},
        ),
        (
            {"type": "mcp_tool_call", "server": "s", "tool": "t", "error": {"message": "boom"}},
            {"server": "s", "tool": "t"},
            {"error": '{"message":"boom"}'},
        ),
        (
            {"type": "collab_tool_call", "tool": "wait", "prompt": None, "agents_states": {"x": {"status": "running"}}},
            {"tool": "wait"},
            {"result": '{"x":{"status":"running"}}'},
        ),
        (
            {"type": "collab_tool_call", "tool": "spawn_agent", "prompt": "do"},
            {"tool": "spawn_agent", "arguments": "do"},
            {},
        ),
        (
            {"type": "web_search", "query": "q", "action": {"type": "search", "query": "q"}},
            {"query": "q", "arguments": '{"type":"search","query":"q"}'},
            {},
        ),
    ],
    ids=lambda value: str(value)[:40],
)
@rows("phase", ["started", "completed", "failed"])
def test_each_tool_tells_what_it_was_asked_and_what_it_answered(
    item: dict[str, Any], asked: dict[str, str], answered: dict[str, str], phase: str
) -> None:
    found = facet(phase, **item)
    assert found["schema"] == "agent_api.tools.structured.v1"
    assert found["tool"]["kind"] == item["type"]
    assert found["input"] == whole(**asked)
    assert found.get("output", {}) == whole(**answered)


@pytest.mark.rule("M7")
def test_what_is_no_tool_is_not_touched_by_asking_for_payloads() -> None:
    lines = b'{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"t"}}\n{"type":"turn.started"}\n'
    assert codex_pipeline(full_payloads=True).receive_data(lines) == codex_pipeline().receive_data(lines)


@pytest.mark.rule("M7")
@rows("character", ["a", "\u00e9", "\u20ac", "\U0001f600"])
@rows("more", [-4, -1, 0, 1, 4])
def test_a_payload_is_cut_at_16_kib_between_characters(character: str, more: int) -> None:
    size = len(character.encode())
    text = "x" * (more % size) + character * ((LIMIT + more) // size)
    found = facet(type="command_execution", command=text)["input"]["command"]
    assert text.startswith(found["text"])
    assert found["truncated"] == (len(text.encode()) > LIMIT)
    if found["truncated"]:
        assert LIMIT - size < len(found["text"].encode()) <= LIMIT
    else:
        assert found["text"] == text


@pytest.mark.rule("M7")
def test_a_payload_of_megabytes_is_cut_like_any_other() -> None:
    found = facet(type="mcp_tool_call", result={"content": "x" * 3_000_000})["output"]["result"]
    assert found == {"text": '{"content":"' + "x" * (LIMIT - 12), "truncated": True}


@pytest.mark.rule("M7", "B4")
@rows("character", ["\x01", '"', "\\", "\u20ac", "\U0001f600", "\x7f"])
def test_payloads_shrink_until_escaping_leaves_the_facet_within_its_bound(character: str) -> None:
    big = character * 200_000
    for item in (
        {"type": "command_execution", "command": big, "aggregated_output": big},
        {"type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": big, "result": big, "error": big},
        {"type": "file_change", "changes": [{"path": big, "kind": "add"}], "diff": big, "stdout": big},
    ):
        found = facet(**item)
        texts = [payload for side in ("input", "output") for payload in found[side].values()]
        assert all(payload["truncated"] or len(payload["text"]) == 1 for payload in texts)
        assert max(len(payload["text"]) for payload in texts) >= 4_096 // len(character.encode())


@pytest.mark.rule("M7", "B4")
@pytest.mark.parametrize("length", [50_000, 60_000, 65_000, 65_200])
def test_a_facet_is_not_dropped_for_its_payloads_as_long_as_it_fits_without_them(length: int) -> None:
    found = facet(type="command_execution", id="i" * length, command="\x01" * 20_000, aggregated_output="o" * 20_000)
    assert found["tool"]["backend_item_id"] == "i" * length
    for side in ("input", "output"):
        assert all(payload["truncated"] for payload in found.get(side, {}).values())


@pytest.mark.rule("B4", "M7")
def test_a_facet_that_is_too_large_without_its_payloads_is_dropped() -> None:
    found = facet(type="command_execution", id="i" * 66_000, command="ls")
    assert found == {"dropped": {"reason": "oversize"}}


@pytest.mark.rule("M7", "L4", "B6")
def test_bytes_that_are_no_utf_8_are_replaced_in_a_payload() -> None:
    line = b'{"type":"item.completed","item":{"id":"a","type":"mcp_tool_call","result":"\xff\xe2\x82"}}\n'
    (event,) = codex_pipeline(full_payloads=True).receive_data(line)
    assert json.loads(encode_events([event]))["data"]["output"] == whole(result='"\ufffd\ufffd"')


@pytest.mark.rule("M7", "B4")
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "\x01", '"', "\u00e9", "\U0001f600"]), st.integers(0, 30_000)),
        min_size=3,
        max_size=3,
    )
)
@example([("\x01", 30_000)] * 3)
def test_payloads_of_any_size_are_beginnings_within_the_bounds(parts: list[tuple[str, int]]) -> None:
    command, output, errors = (character * count for character, count in parts)
    found = facet(type="command_execution", command=command, stdout=output, stderr=errors)
    pairs = [(found["input"]["command"], command)]
    if output + errors:
        pairs.append((found["output"]["aggregated_output"], output + errors))
    for payload, original in pairs:
        assert original.startswith(payload["text"])
        assert len(payload["text"].encode()) <= LIMIT
        assert payload["truncated"] == (payload["text"] != original)
