"""Test texts that are assembled from the events of a run, against their lines and a plain model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter import AssembledText, Event, TextAssembler, codex_pipeline
from codex_adapter.events import TextPart

pytestmark = pytest.mark.rule("P10")

ITEMS = st.sampled_from([None, "a", "b"])
TYPES = st.sampled_from(["agent_message", "reasoning"])
PHASES = st.sampled_from(["start", "snapshot", "delta", "complete"])
PIECES = st.lists(st.text(max_size=3), min_size=1, max_size=3)


def event(
    text: str, phase: Any, item: str | None = "a", kind: str = "agent_message", part: int = 1, of: int = 1
) -> Event:
    return Event(0, "codex", "text_output", "assistant", text, None, TextPart(item, kind, phase, part, of))


def received(assembler: TextAssembler, event: Event) -> AssembledText:
    text = assembler.receive(event)
    assert text is not None
    return text


@given(st.lists(st.tuples(ITEMS, TYPES, PHASES, PIECES)))
def test_snapshots_replace_fragments_append_and_parts_are_one_text(
    changes: Sequence[tuple[str | None, str, Any, list[str]]],
) -> None:
    assembler = TextAssembler()
    texts: dict[tuple[str | None, str], str] = {}
    last = None
    for item, kind, phase, pieces in changes:
        for part, piece in enumerate(pieces, 1):
            text = received(assembler, event(piece, phase, item, kind, part, len(pieces)))
            assert text.whole == (phase == "delta" or part == len(pieces))
            assert text.complete == (phase == "complete" and part == len(pieces))
        whole = "".join(pieces)
        texts[item, kind] = texts.get((item, kind), "") + whole if phase == "delta" else whole
        assert (text.item_id, text.item_type, text.text) == (item, kind, texts[item, kind])
        if phase == "complete":
            del texts[item, kind]
            last = whole if kind == "agent_message" else last
        assert {(it.item_id, it.item_type): it.text for it in assembler.open} == texts
        assert assembler.last_message == last


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=5).map(lambda text: text * 30_000), min_size=1, max_size=3)
)
def test_the_messages_are_those_of_the_lines(messages: list[str]) -> None:
    assembler = TextAssembler()
    found = [text.text for it in events_of(messages) if (text := assembler.receive(it)) is not None and text.complete]
    assert found == messages
    assert assembler.last_message == messages[-1]
    assert assembler.open == ()


def events_of(messages: Sequence[str]) -> Iterator[Event]:
    pipeline = codex_pipeline()
    for number, message in enumerate(messages):
        item = {"id": f"item_{number}", "type": "agent_message", "text": message}
        yield from pipeline.receive_data(msgspec.json.encode({"type": "item.completed", "item": item}) + b"\n")
    yield from pipeline.receive_eof()


def test_a_text_knows_where_it_began_and_a_new_one_begins_after_its_end() -> None:
    assembler = TextAssembler()
    seen = [
        msgspec.structs.replace(event(text, phase), seq=seq)
        for seq, (text, phase) in enumerate([("a", "start"), ("b", "delta"), ("ab", "complete"), ("c", "complete")])
    ]
    assert [received(assembler, it).seq for it in seen] == [0, 0, 0, 3]


def test_what_has_no_text_is_nothing() -> None:
    assembler = TextAssembler()
    assert assembler.receive(Event(0, "codex", "status")) is None
    assert assembler.last_message is None


def test_a_message_of_which_a_part_is_missing_is_not_the_last_message() -> None:
    assembler = TextAssembler()
    assembler.receive(event("first", "complete"))
    assembler.receive(event("sec", "complete", part=1, of=2))
    assert assembler.last_message == "first"
    assert [text.text for text in assembler.open] == ["sec"]


def test_fragments_cost_no_more_than_their_own_length() -> None:
    assembler = TextAssembler()
    for _ in range(10_000):
        text = received(assembler, event("word ", "delta"))
    assert text.text == "word " * 10_000
    assert text.text is text.text


def test_a_message_of_a_sub_agent_is_not_the_last_message() -> None:
    assembler = TextAssembler()
    received(assembler, event("own", "complete"))
    part = TextPart("b", "agent_message", "complete", parent_id="call")
    text = received(assembler, Event(1, "codex", "text_output", "assistant", "other", None, part))
    assert (text.text, text.parent_id, text.complete) == ("other", "call", True)
    assert assembler.last_message == "own"
