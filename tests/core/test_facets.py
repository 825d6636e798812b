"""Test what all facets have in common: masks, limits, and parts that are left out."""

from __future__ import annotations

import json
import math
from typing import Any, get_args

import msgspec
import pytest

from codex_adapter import Event, Pipeline
from codex_adapter.cli.schema.command import json_schema
from codex_adapter.core.bounds import DATA_LIMIT, bound
from codex_adapter.core.masking.masker import Masker, mask_event, texts_to_mask
from codex_adapter.core.state import StreamState
from codex_adapter.events import (
    AgentInfo,
    Dropped,
    ErrorSource,
    ExitStatus,
    Facet,
    HintNotice,
    PayloadText,
    Plan,
    PlanItem,
    RateLimit,
    Retry,
    SessionHandle,
    TextPart,
    TokenUsage,
    Tool,
    ToolBytes,
    ToolCall,
    ToolInput,
    ToolOutput,
    UnknownLine,
)
from codex_adapter.records import decode_record, encode_events
from tests.toy.toy_agent import ToyDecoder

from ..rows import rows

CANARY = "canary-Zr8vQ2mXw71kP"
TOOL = Tool("i", "t", None, "other", "start", "running", None, ToolBytes(), "n")


def tool(**names: str) -> ToolCall:
    return ToolCall(msgspec.structs.replace(TOOL, **names))


FREE: dict[str, Facet] = {
    "text item": TextPart(CANARY, "agent_message", "complete"),
    "text parent": TextPart("i", "agent_message", "complete", parent_id=CANARY),
    "tool item": tool(backend_item_id=CANARY),
    "tool name": tool(tool_name=CANARY),
    "tool use": tool(tool_use_id=CANARY),
    "tool parent": tool(parent_id=CANARY),
    "input": ToolCall(TOOL, ToolInput(query=PayloadText(CANARY, False)), ToolOutput()),
    "output": ToolCall(TOOL, ToolInput(), ToolOutput(error=PayloadText(CANARY, False))),
    "plan": Plan((PlanItem(CANARY, status="in_progress"),)),
    "window": RateLimit("rejected", window=CANARY),
    "release": AgentInfo(release=CANARY),
    "model": AgentInfo(model=CANARY),
}
"""Facets whose strings come from the agent and are masked at the end of the pipeline."""
WHOLE: list[Facet] = [
    TextPart("i", "agent_message", "complete", 2, 3, "p"),
    ToolCall(msgspec.structs.replace(TOOL, parent_id="p")),
    TokenUsage({"a": 1}, 0.25),
    Plan((PlanItem("a", True, "completed"), PlanItem("b", False, "in_progress"))),
    Retry(1, 9, 0.6, 529, "overloaded"),
    RateLimit("warning", "five_hour", 1_999_999_999, 0.93, "quota_exceeded"),
    AgentInfo("2.1.330", "opus"),
]
LEAST: list[tuple[Facet, dict[str, Any]]] = [
    (
        TextPart(None, "reasoning", "delta"),
        {"schema": "codex_adapter.text.v1", "item_id": None, "item_type": "reasoning", "phase": "delta"}
        | {"part": 1, "parts": 1},
    ),
    (TokenUsage({}), {"schema": "codex_adapter.usage.v1", "usage": {}}),
    (
        Plan((PlanItem("a"),)),
        {"schema": "codex_adapter.plan.v1", "items": [{"text": "a", "completed": False}]},
    ),
    (Retry(), {"schema": "codex_adapter.retry.v1"}),
    (RateLimit("allowed"), {"schema": "codex_adapter.rate_limit.v1", "status": "allowed"}),
    (AgentInfo(), {"schema": "codex_adapter.agent.v1"}),
]


@pytest.mark.rule("X5")
@rows("facet", FREE.values(), ids=FREE)
def test_each_string_of_the_agent_is_masked(facet: Facet) -> None:
    event = Event(0, "toy", "status", "status", None, None, facet)
    assert CANARY.encode() in encode_events([event])
    assert any(CANARY in text for text in texts_to_mask([event]))
    masked = encode_events([mask_event(event, Masker([CANARY]))])
    assert CANARY.encode() not in masked
    assert b"***" in masked


@pytest.mark.rule("X5")
def test_the_text_of_an_event_and_the_message_of_an_agent_are_masked() -> None:
    source = ErrorSource("item")
    for event in (
        Event(0, "toy", "text_output", "assistant", CANARY, None, None),
        Event(0, "toy", "error", "error", None, CANARY, source),
    ):
        assert texts_to_mask([event]) == [CANARY]
        assert CANARY.encode() not in encode_events([mask_event(event, Masker([CANARY]))])


@pytest.mark.rule("X5")
def test_no_facet_is_forgotten() -> None:
    # The decoder masks these names itself. A hint and its advice are ours.
    ours = {SessionHandle, TokenUsage, UnknownLine, ErrorSource, HintNotice, Retry, Dropped}
    assert {type(facet) for facet in FREE.values()} | ours == set(get_args(Facet))


@pytest.mark.rule("B2", "B4", "M11")
def test_a_long_id_of_a_parent_drops_the_facet_and_a_long_text_keeps_its_parent() -> None:
    out: list[Event] = []
    long = "p" * DATA_LIMIT
    bound(
        Event(0, "toy", "text_output", "assistant", "t", None, TextPart("i", "agent_message", "delta", 1, 1, long)), out
    )
    bound(Event(0, "toy", "tool_call", "tool", None, None, tool(parent_id=long)), out)
    assert [event.data for event in out] == [Dropped(), Dropped()]
    out.clear()
    part = TextPart("i", "agent_message", "complete", parent_id="p")
    bound(Event(0, "toy", "text_output", "assistant", "x" * 70_000, None, part), out)
    assert [event.data for event in out] == [
        TextPart("i", "agent_message", "complete", number, 2, "p") for number in (1, 2)
    ]


@pytest.mark.rule("M3", "M4", "M6", "M12", "M13", "M14", "W1")
@rows("facet", WHOLE, ids=lambda facet: type(facet).__name__)
def test_each_part_is_written_and_read(facet: Facet) -> None:
    event = Event(0, "toy", "status", data=facet)
    assert decode_record(encode_events([event])) == event


@pytest.mark.rule("M3", "M4", "M6", "M12", "M13", "M14", "W1")
@rows(("facet", "written"), LEAST, ids=lambda value: type(value).__name__)
def test_what_is_unknown_is_left_out_and_the_rest_is_always_written(facet: Facet, written: dict[str, Any]) -> None:
    event = Event(0, "toy", "status", data=facet)
    assert json.loads(encode_events([event]))["data"] == written
    assert decode_record(encode_events([event])) == event


@pytest.mark.rule("M3")
def test_a_tool_has_all_its_fields_but_a_parent() -> None:
    written = json.loads(msgspec.json.encode(TOOL))
    assert written.keys() == set(Tool.__struct_fields__) - {"parent_id"}


@pytest.mark.rule("C5")
def test_the_schema_requires_what_is_always_written() -> None:
    definitions = json_schema()["$defs"]
    assert definitions["TextPart"]["required"] == ["schema", "item_id", "item_type", "phase", "part", "parts"]
    assert definitions["PlanItem"]["required"] == ["text", "completed"]
    assert definitions["Tool"]["required"] == [name for name in Tool.__struct_fields__ if name != "parent_id"]


@pytest.mark.rule("F13")
@pytest.mark.parametrize("cost", [0.0, 0.25, 1e12])
def test_the_cost_of_the_run_is_in_its_completion_whatever_its_exit(cost: float) -> None:
    pipeline = Pipeline(ToyDecoder)
    pipeline.state.cost_reported(cost)
    for code in (0, 1):
        assert pipeline.completion(ExitStatus(code=code)).cost_usd == cost


@pytest.mark.rule("F13")
@pytest.mark.parametrize("cost", [None, -0.1, math.nan, math.inf, 1e13])
def test_what_is_not_an_amount_is_an_unknown_cost(cost: float | None) -> None:
    state = StreamState("toy")
    state.cost_reported(0.25)
    state.cost_reported(cost)
    assert state.cost_usd is None
