"""Test the translation of a run's events into events of a turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter import Event, codex_pipeline
from codex_adapter.events import (
    AgentInfo,
    PayloadText,
    Plan,
    PlanItem,
    RateLimit,
    Retry,
    Session,
    SessionHandle,
    TextPart,
    TokenUsage,
    Tool,
    ToolBytes,
    ToolCall,
    ToolInput,
    ToolOutput,
)
from codex_adapter.protocols.turns.emitter import Emitter
from codex_adapter.protocols.turns.translation import Translation
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

from .listener import Listener

pytestmark = pytest.mark.rule("U7")


async def told(*events: Event, close: bool = True) -> list[dict[str, Any]]:
    """What these events come to."""
    listener = Listener()
    translation = Translation(Emitter(listener.callbacks, "s", "r"))
    for event in events:
        await translation.translate(event)
    if close:
        await translation.close()
    assert [event["seq"] for event in listener.told] == list(range(1, len(listener.told) + 1))
    return listener.bare


def text(
    phase: Any, said: str, *, item: str = "item_0", kind: str = "agent_message", part: int = 1, of: int = 1
) -> Event:
    """A text of a run."""
    return Event(0, "codex", "text_output", "assistant", said, None, TextPart(item, kind, phase, part, of))


def tool(
    kind: Any, id_: str | None = "item_1", status: Any = "running", *, name: str | None = None, **payloads: Any
) -> Event:
    """A tool's call, or its result."""
    of = payloads.pop("of", "command_execution")
    exit_code, parent = payloads.pop("exit_code", None), payloads.pop("parent", None)
    facts = Tool(id_, "t", "u", of, "start", status, exit_code, ToolBytes(), name, parent_id=parent)
    return Event(0, "codex", kind, "tool", None, None, ToolCall(facts, **payloads))


def payload(said: str, *, truncated: bool = False) -> PayloadText:
    """A payload."""
    return PayloadText(said, truncated)


async def test_a_whole_message_is_a_message() -> None:
    assert await told(text("complete", "Hello")) == [{"type": "message", "role": "assistant", "content": "Hello"}]


async def test_a_message_in_parts_is_one_message() -> None:
    parts = [text("complete", said, part=number, of=3) for number, said in enumerate(("a", "b", "c"), 1)]
    assert [event["content"] for event in await told(*parts)] == ["abc"]


async def test_a_message_that_grows_is_told_as_it_grows() -> None:
    events = await told(
        text("start", ""),
        text("snapshot", "He"),
        text("snapshot", "Hel"),
        text("snapshot", "Hello", part=1, of=2),
        text("snapshot", " you", part=2, of=2),
        text("delta", "!"),
        text("snapshot", "Something else"),
        text("complete", "Hello you!"),
    )
    assert [event.get("delta") for event in events] == ["He", "l", "lo you", "!", None]
    assert events[-1]["content"] == "Hello you!"


async def test_a_tool_s_call_and_its_result_are_a_pair() -> None:
    command = ToolInput(command=payload("ls"))
    assert await told(
        tool("tool_call", input=command),
        tool("tool_call", input=command),
        tool(
            "tool_result",
            status="completed",
            exit_code=0,
            input=command,
            output=ToolOutput(aggregated_output=payload("a\nb\n")),
        ),
        tool("tool_result", status="failed"),
    ) == [
        {"type": "tool_call", "toolUseId": "item_1", "toolName": "shell", "input": {"command": "ls"}},
        {
            "type": "tool_result",
            "toolUseId": "item_1",
            "toolName": "shell",
            "output": {"output": "a\nb\n", "exitCode": 0},
            "isError": False,
        },
    ]


@pytest.mark.fault(
    "turns",
    "The agent reports the result of a call that it never reported",
    "The adapter emits the call before the result",
)
async def test_a_result_without_a_call_tells_the_call_first() -> None:
    events = await told(tool("tool_result", status="completed", of="file_change"))
    assert [(event["type"], event["toolName"]) for event in events] == [
        ("tool_call", "apply_patch"),
        ("tool_result", "apply_patch"),
    ]


@pytest.mark.parametrize("status", ["failed", "unknown", "running", "pending"])
async def test_what_did_not_complete_is_an_error(status: str) -> None:
    events = await told(tool("tool_call"), tool("tool_result", status=status, exit_code=1))
    assert events[-1]["isError"] is True


async def test_what_continues_in_the_background_is_no_error() -> None:
    events = await told(tool("tool_call"), tool("tool_result", status="running"))
    assert [event.get("isError") for event in events] == [None, False]


async def test_what_a_sub_agent_does_is_a_log() -> None:
    command = ToolInput(command=payload("ls"))
    of_agent = {"name": "Bash", "parent": "item_0"}
    events = await told(tool("tool_call", input=command, **of_agent), tool("tool_result", status="failed", **of_agent))
    of = {"toolName": "Bash", "parent_id": "item_0"}
    assert [(event["message"], event["fields"]) for event in events] == [
        ("tool_call", {**of, "command": "ls"}),
        ("tool_result", of),
    ]
    assert {event["level"] for event in events} == {"debug"}


@pytest.mark.fault("turns", "A turn ends with open calls", "The adapter closes each call as an error")
async def test_what_is_open_in_the_end_is_closed_as_an_error() -> None:
    events = await told(tool("tool_call", "a"), tool("tool_call", "b"), tool("tool_result", "a", "completed"))
    assert [(event["type"], event["toolUseId"]) for event in events] == [
        *(("tool_call", "a"), ("tool_call", "b")),
        *(("tool_result", "a"), ("tool_result", "b")),
    ]
    assert (events[-1]["isError"], events[-1]["output"]) == (True, "the turn ended before this call was answered")


async def test_json_of_a_payload_is_what_it_says_and_a_cut_one_is_named() -> None:
    called = ToolInput(server=payload("mx"), tool=payload("echo"), arguments=payload('{"text": "x"}'))
    answered = ToolOutput(result=payload('{"content": [{"te', truncated=True))
    events = await told(
        tool("tool_call", name="mx/echo", of="mcp_tool_call", input=called),
        tool("tool_result", status="completed", name="mx/echo", of="mcp_tool_call", output=answered),
    )
    assert events[0]["toolName"] == "mx/echo"
    assert events[0]["input"] == {"server": "mx", "tool": "echo", "arguments": {"text": "x"}}
    assert events[1]["output"] == {"result": '{"content": [{"te', "truncated": ["result"]}


async def test_the_rest_is_told_as_a_log() -> None:
    def status(data: Any = None, message: str | None = None, kind: Any = "status") -> Event:
        return Event(0, "codex", kind, "status", None, message, data)

    assert await told(
        status(),
        status(Plan((PlanItem("one", completed=True),))),
        status(TokenUsage({"input_tokens": 3})),
        status(message="turn failed"),
        status(message="Reconnecting... 1/5", kind="error"),
        text("complete", "hm", kind="reasoning"),
        text("snapshot", "h", kind="reasoning"),
        status(Retry(1, 9, 0.5, 529, "overloaded"), message="m"),
        status(RateLimit("warning", utilization=0.9)),
        status(AgentInfo("1.0", "m")),
        status(TokenUsage({"input_tokens": 3}, 0.25)),
        status(Plan((PlanItem("one", False, "in_progress"),))),
        Event(0, "codex", "text_output", data=TextPart("i", "agent_message", "delta", parent_id="t"), text="s"),
        Event(0, "codex", "text_output", data=TextPart("i", "agent_message", "complete", parent_id="t"), text="sub"),
    ) == [
        {"type": "log", "level": "info", "message": "plan", "fields": {"items": [{"text": "one", "completed": True}]}},
        {"type": "log", "level": "debug", "message": "usage", "fields": {"input_tokens": 3}},
        {"type": "log", "level": "info", "message": "turn failed"},
        {"type": "log", "level": "warn", "message": "Reconnecting... 1/5"},
        {"type": "log", "level": "debug", "message": "reasoning", "fields": {"text": "hm"}},
        {
            "type": "log",
            "level": "warn",
            "message": "retry",
            "fields": {"number": 1, "max_retries": 9, "delay": 0.5, "http_status": 529, "hint": "overloaded"},
        },
        {"type": "log", "level": "debug", "message": "rate limit", "fields": {"status": "warning", "utilization": 0.9}},
        {"type": "log", "level": "debug", "message": "agent", "fields": {"release": "1.0", "model": "m"}},
        {"type": "log", "level": "debug", "message": "usage", "fields": {"input_tokens": 3, "cost_usd": 0.25}},
        {
            "type": "log",
            "level": "info",
            "message": "plan",
            "fields": {"items": [{"text": "one", "completed": False, "status": "in_progress"}]},
        },
        {"type": "log", "level": "debug", "message": "agent_message", "fields": {"text": "sub", "parent_id": "t"}},
    ]


@pytest.mark.rule("U2")
async def test_the_session_is_on_each_event_from_when_it_is_known() -> None:
    listener = Listener()
    translation = Translation(Emitter(listener.callbacks, "s", "r"))
    await translation.translate(text("complete", "early"))
    await translation.translate(Event(0, "codex", "status", "status", None, None, SessionHandle(Session("id-1"))))
    await translation.translate(text("complete", "late"))
    assert [event.get("harnessSessionId") for event in listener.told] == [None, "id-1"]
    assert translation.texts.last_message == "late"


async def test_a_recorded_run_is_told() -> None:
    lines = [thread_started(), turn_started(), agent_message("item_0", "Hi"), turn_completed()]
    pipeline = codex_pipeline(full_payloads=True)
    events = pipeline.receive_data(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert [event["type"] for event in await told(*events, *pipeline.receive_eof())] == ["message", "log"]


_IDS = st.sampled_from(["a", "b", "c", None])
_TOOLS = st.builds(tool, st.sampled_from(["tool_call", "tool_result"]), _IDS, st.sampled_from(["running", "completed"]))


@given(st.lists(_TOOLS, max_size=12))
async def test_every_call_has_one_result_and_every_result_a_call_before_it(events: Sequence[Event]) -> None:
    open_: set[str] = set()
    ever: set[str] = set()
    for event in await told(*events):
        if event["type"] == "tool_call":
            assert event["toolUseId"] not in ever
            ever.add(event["toolUseId"])
            open_.add(event["toolUseId"])
        else:
            open_.remove(event["toolUseId"])
    assert not open_
