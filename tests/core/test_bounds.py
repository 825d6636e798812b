"""Test byte limits: longer texts are split, cut or dropped, never inside a character."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.core.bounds import DATA_LIMIT, FINAL_TEXT_LIMIT, MESSAGE_LIMIT, TEXT_LIMIT, bound, cut
from codex_adapter.events import (
    Dropped,
    Event,
    ExitStatus,
    Facet,
    Plan,
    PlanItem,
    Session,
    SessionHandle,
    TextPart,
    TokenUsage,
    Tool,
    ToolBytes,
    ToolCall,
    UnknownLine,
)

from ..rows import rows

MARK = "\u2026(truncated)"
WIDTHS = {"a": 1, "\u00e9": 2, "\u20ac": 3, "\U0001f600": 4}
EACH_WIDTH = pytest.mark.parametrize(("character", "width"), WIDTHS.items())
ABOUT_THE_LIMIT = pytest.mark.parametrize("more", range(-5, 6))
RUNS = st.lists(st.tuples(st.sampled_from(list(WIDTHS)), st.integers(0, 40_000)), max_size=5)
TEXTS = RUNS.map(lambda runs: "".join(character * count for character, count in runs))
PART = TextPart("item_0", "agent_message", "complete")


def bounded(**fields: Any) -> list[Event]:
    out: list[Event] = []
    bound(Event(7, "codex", **{"kind": "status", **fields}), out)
    return out


def text_of(length: int, character: str, width: int) -> str:
    """A text of exactly that many bytes that ends in as many wide characters as there is room for."""
    return "x" * (length % width) + character * (length // width)


@pytest.mark.rule("B2", "B6")
@given(TEXTS)
def test_pieces_of_a_text_fit_and_joined_are_the_text(text: str) -> None:
    events = bounded(kind="text_output", channel="assistant", text=text, data=PART)
    assert "".join(event.text or "" for event in events) == text
    sizes = [len((event.text or "").encode()) for event in events]
    assert all(size <= TEXT_LIMIT for size in sizes)
    assert all(size > TEXT_LIMIT - 4 for size in sizes[:-1])
    assert len(events) == 1 or all(sizes)
    parts = [event.data for event in events]
    assert parts == [TextPart("item_0", "agent_message", "complete", n + 1, len(events)) for n in range(len(events))]
    assert {(event.kind, event.channel, event.message) for event in events} == {("text_output", "assistant", None)}


@pytest.mark.rule("B2")
@EACH_WIDTH
@ABOUT_THE_LIMIT
@pytest.mark.parametrize("times", [1, 2])
def test_a_text_is_split_at_exactly_the_limit(character: str, width: int, more: int, times: int) -> None:
    length = times * TEXT_LIMIT + more
    pieces = [event.text or "" for event in bounded(text=text_of(length, character, width))]
    assert "".join(pieces) == text_of(length, character, width)
    if width != 3:  # characters of three bytes do not fill a piece
        assert len(pieces) == (times if more <= 0 else times + 1)


@pytest.mark.rule("B2", "M4")
def test_a_split_text_whose_facet_is_dropped_keeps_its_text() -> None:
    events = bounded(kind="text_output", text="x" * 70_000, data=TextPart("i" * 70_000, "reasoning", "start"))
    assert [(len(event.text or ""), event.data) for event in events] == [(65_536, Dropped()), (4_464, Dropped())]


@pytest.mark.rule("B2", "M1")
def test_an_empty_text_is_a_text() -> None:
    assert bounded(text="") == [Event(7, "codex", "status", text="")]
    assert bounded(text="", message="m" * 5_000)[0].text == ""


@pytest.mark.rule("B3", "B5")
@given(TEXTS, st.sampled_from([MESSAGE_LIMIT, FINAL_TEXT_LIMIT, len(MARK.encode())]))
def test_what_is_cut_is_a_beginning_with_the_mark_and_fits(text: str, limit: int) -> None:
    found = cut(text, limit)
    assert len(found.encode()) <= limit
    if len(text.encode()) <= limit:
        assert found == text
    else:
        assert found.endswith(MARK)
        kept = found.removesuffix(MARK)
        assert text.startswith(kept)
        assert len(found.encode()) > limit - 4


@pytest.mark.rule("B3")
@EACH_WIDTH
@ABOUT_THE_LIMIT
def test_a_message_is_cut_at_exactly_the_limit(character: str, width: int, more: int) -> None:
    text = text_of(MESSAGE_LIMIT + more, character, width)
    (event,) = bounded(message=text)
    assert event.message is not None
    assert (event.message == text) == (more <= 0)
    assert len(event.message.encode()) <= MESSAGE_LIMIT


@pytest.mark.rule("B3")
def test_a_message_that_ends_like_a_cut_one_is_cut_again_when_it_is_too_long() -> None:
    assert cut("x" * MESSAGE_LIMIT + MARK, MESSAGE_LIMIT) == "x" * (MESSAGE_LIMIT - 14) + MARK


@pytest.mark.rule("B3")
@EACH_WIDTH
@pytest.mark.parametrize("length", [*range(4_040, 4_130), 5_000, 8_192, 12_288, 65_536])
def test_a_message_on_a_line_of_any_length_is_bounded(character: str, width: int, length: int) -> None:
    text = text_of(length, character, width)
    for line in (f'{{"type":"error","message":"{text}"}}\n', f'{{"message":"{text}","type":"error","x":""}}\n'):
        (event,) = codex_pipeline().receive_data(line.encode())
        assert event.message == cut(text, MESSAGE_LIMIT)


@pytest.mark.rule("B1")
@rows(
    ("channel", "kept"),
    [
        ("c" * 128, True),
        ("c" * 129, False),
        ("\u00e9" * 64, True),
        ("\u00e9" * 64 + "c", False),
        ("", True),
        (None, True),
    ],
)
def test_a_channel_over_its_bound_is_dropped(channel: str | None, kept: bool) -> None:
    (event,) = bounded(channel=channel, message="m")
    assert event.channel == (channel if kept else None)
    assert event.message == "m"


def tool_call(name: str) -> ToolCall:
    tool = Tool(name, name, name, "mcp_tool_call", "complete", "unknown", -(2**63), ToolBytes(1, 1, 1, 1), name)
    return ToolCall(tool)


@pytest.mark.rule("B4")
@rows(
    "make",
    [
        lambda filling: TextPart(filling, "agent_message", "complete"),
        tool_call,
        lambda filling: SessionHandle(Session(filling)),
        lambda filling: Plan((PlanItem(filling, True), PlanItem(filling, False))),
        lambda filling: TokenUsage({filling: 1}),
        lambda filling: UnknownLine(filling, None),
    ],
    ids=["text", "tool", "session", "plan", "usage", "unknown"],
)
@rows("character", ["a", "\u00e9", "\u20ac", '"', "\x01"])
def test_a_facet_is_dropped_when_its_json_is_over_the_bound(make: Any, character: str) -> None:
    def size(count: int) -> int:
        return len(msgspec.json.encode(make(character * count)))

    each = size(1) - size(0)
    most = (DATA_LIMIT - size(0)) // each
    assert size(most) <= DATA_LIMIT < size(most + 1)
    for count in (0, 1, most - 1, most):
        facet: Facet = make(character * count)
        assert bounded(message="m", data=facet) == [Event(7, "codex", "status", message="m", data=facet)]
    for count in (most + 1, most + 2, 2 * most):
        (event,) = bounded(message="m", data=make(character * count))
        assert msgspec.json.encode(event.data) == b'{"dropped":{"reason":"oversize"}}'
        assert event.message == "m"


@pytest.mark.rule("B1", "B2", "B3", "B4")
def test_what_fits_is_passed_on_as_it_is() -> None:
    event = Event(7, "codex", "text_output", "assistant", "text", None, PART)
    out = [event]
    bound(event, out)
    assert out[0] is out[1]


@pytest.mark.rule("B5")
@EACH_WIDTH
@ABOUT_THE_LIMIT
def test_the_final_text_is_cut_at_exactly_the_limit(character: str, width: int, more: int) -> None:
    text = text_of(FINAL_TEXT_LIMIT + more, character, width)
    pipeline = codex_pipeline()
    item = {"id": "a", "type": "agent_message", "text": text}
    pipeline.receive_data(json.dumps({"type": "item.completed", "item": item}).encode() + b"\n")
    found = pipeline.completion(ExitStatus(code=0)).final_text
    assert found is not None
    assert found == (text if more <= 0 else cut(text, FINAL_TEXT_LIMIT))
    assert len(found.encode()) <= FINAL_TEXT_LIMIT


@pytest.mark.rule("B2", "B6")
def test_the_pieces_of_a_text_stand_where_its_event_stood() -> None:
    def message(text: str) -> bytes:
        item = {"id": "a", "type": "agent_message", "text": text}
        return json.dumps({"type": "item.completed", "item": item}).encode() + b"\n"

    events = codex_pipeline().receive_data(message("before") + message("x" * 150_000) + message("after"))
    assert [(event.seq, (event.text or "")[:6], len(event.text or "")) for event in events] == [
        (0, "before", 6),
        (1, "xxxxxx", 65_536),
        (2, "xxxxxx", 65_536),
        (3, "xxxxxx", 18_928),
        (4, "after", 5),
    ]


def _item(item_type: str, **fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "a", "type": item_type, **fields}}


LONG_STRINGS: dict[str, Callable[[str], dict[str, Any]]] = {
    "text": lambda text: _item("reasoning", text=text),
    "message of an item": lambda text: _item("error", message=text),
    "message of a line": lambda text: {"type": "error", "message": text},
    "message of a failure": lambda text: {**_item("agent_message", text=""), "type": "item.failed", "error": text},
    "id of a text": lambda text: _item("agent_message", id=text, text=""),
    "id of a tool": lambda text: _item("command_execution", id=text),
    "name of a tool": lambda text: _item("mcp_tool_call", tool=text),
    "turn": lambda text: {**_item("command_execution"), "turn_id": text},
    "thread": lambda text: {**_item("command_execution"), "thread_id": text},
    "one step": lambda text: _item("todo_list", items=[{"text": text}]),
    "many steps": lambda text: _item("todo_list", items=[{"text": ""} for _ in text]),
}


@pytest.mark.rule("B1", "B2", "B3", "B4", "B6")
@rows("place", LONG_STRINGS)
@rows("character", ["x", "\u20ac", "\U0001f600", "\x01"])
@rows("length", [1_023, 1_024, 1_025, 4_096, 4_097, 8_200, 10_900, 16_385, 65_536, 65_537, 200_000])
def test_no_string_of_a_line_is_too_long_for_its_event(place: str, character: str, length: int) -> None:
    line = json.dumps(LONG_STRINGS[place](character * length)).encode() + b"\n"
    events = codex_pipeline().receive_data(b'{"type":"turn.started"}\n' + line + b'{"type":"turn.failed"}\n')
    assert [event.seq for event in events] == list(range(len(events)))
    assert (events[0].kind, events[-1].message) == ("status", "turn failed")
    for event in events:
        assert len((event.text or "").encode()) <= TEXT_LIMIT
        assert len((event.message or "").encode()) <= MESSAGE_LIMIT
        assert len(msgspec.json.encode(event.data)) <= DATA_LIMIT
