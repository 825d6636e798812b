"""Test that a line gets its thread and turn from the lines before it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter.agents.codex.stream.context import Context
from codex_adapter.agents.codex.stream.line_parser import parse_lines
from codex_adapter.core.bad_lines import BadLine

STARTED: dict[str, Any] = {"type": "turn.started"}
COMPLETED: dict[str, Any] = {"type": "turn.completed"}
FAILED: dict[str, Any] = {"type": "turn.failed"}
ITEM: dict[str, Any] = {"type": "item.completed", "item": {"id": "a", "type": "agent_message", "text": "t"}}
UNKNOWN: dict[str, Any] = {"type": "tomorrow"}
Ids = tuple[str | None, str | None]


def thread(thread_id: str) -> dict[str, Any]:
    return {"type": "thread.started", "thread_id": thread_id}


def ids(*lines: dict[str, Any]) -> list[Ids]:
    """Thread and turn of each line."""
    context = Context()
    found: list[Ids] = []
    for line in lines:
        event = parse_lines([json.dumps(line).encode()])[0]
        assert not isinstance(event, BadLine)
        context.place(event)
        found.append((event.thread_id, event.turn_id))
    return found


@pytest.mark.rule("T3")
def test_before_anything_is_known_a_line_has_no_ids() -> None:
    assert ids(ITEM, UNKNOWN) == [(None, None), (None, None)]


@pytest.mark.rule("T3")
def test_a_thread_id_seen_once_belongs_to_the_lines_after_it() -> None:
    assert ids(thread("T"), STARTED, ITEM, UNKNOWN, {"type": "error", "message": "m"}) == [
        ("T", None),
        *[("T", "synthetic-turn-1")] * 4,
    ]


@pytest.mark.rule("T3")
def test_any_line_may_bring_the_thread_id() -> None:
    assert ids({**STARTED, "thread_id": "T"}, ITEM) == [("T", "synthetic-turn-1")] * 2
    assert ids({**ITEM, "conversation_id": "T"}, ITEM) == [("T", None)] * 2


@pytest.mark.rule("T2", "T3")
def test_a_conversation_id_is_a_thread_id_also_when_another_was_seen() -> None:
    assert ids(thread("T"), STARTED, {**ITEM, "conversation_id": "U"}, ITEM) == [
        ("T", None),
        ("T", "synthetic-turn-1"),
        ("U", None),
        ("U", None),
    ]


@pytest.mark.rule("T3")
def test_turns_without_an_id_are_counted_over_the_whole_run() -> None:
    turn = [STARTED, ITEM, COMPLETED]
    assert ids(thread("T"), *turn, *turn, thread("U"), *turn) == [
        ("T", None),
        *[("T", "synthetic-turn-1")] * 3,
        *[("T", "synthetic-turn-2")] * 3,
        ("U", None),
        *[("U", "synthetic-turn-3")] * 3,
    ]


@pytest.mark.rule("T3")
def test_a_turn_with_an_id_counts_as_one() -> None:
    assert ids({**STARTED, "turn_id": "own"}, ITEM, STARTED, ITEM) == [
        *[(None, "own")] * 2,
        *[(None, "synthetic-turn-2")] * 2,
    ]


@pytest.mark.rule("T3")
def test_a_turn_that_starts_twice_is_the_later_one() -> None:
    assert ids(STARTED, STARTED, ITEM) == [(None, "synthetic-turn-1"), *[(None, "synthetic-turn-2")] * 2]


@pytest.mark.rule("T3")
@pytest.mark.parametrize("end", [COMPLETED, FAILED])
def test_a_finished_turn_is_over_for_the_lines_after_it(end: dict[str, Any]) -> None:
    assert ids(STARTED, end, ITEM) == [*[(None, "synthetic-turn-1")] * 2, (None, None)]


@pytest.mark.rule("T3")
@pytest.mark.parametrize("again", ["T", "U"])
def test_the_start_of_a_thread_forgets_the_turn(again: str) -> None:
    assert ids(thread("T"), STARTED, thread(again), ITEM)[-1] == (again, None)
    assert ids(thread("T"), STARTED, {"type": "thread.resumed", "thread_id": again}, ITEM)[-1] == (again, None)


@pytest.mark.fault(
    "stream", "A line of another thread arrives during a turn", "Its event has the id of its own thread and no turn"
)
@pytest.mark.rule("T3")
def test_a_line_of_another_thread_forgets_the_turn() -> None:
    assert ids(thread("T"), STARTED, {**ITEM, "thread_id": "U"}, ITEM)[2:] == [("U", None), ("U", None)]
    assert ids(thread("T"), STARTED, {**ITEM, "thread_id": "T"}, ITEM)[2:] == [("T", "synthetic-turn-1")] * 2


@pytest.mark.rule("T3")
def test_a_line_may_bring_the_turn_id() -> None:
    assert ids({**ITEM, "turn_id": "own"}, ITEM, COMPLETED, ITEM) == [*[(None, "own")] * 3, (None, None)]


@pytest.mark.fault("stream", "A thread id is blank or longer than 1 KiB", "The decoder does not store it")
@pytest.mark.rule("T3", "M5")
@pytest.mark.parametrize("useless", ["", "  ", "x" * 1025])
def test_an_id_that_is_blank_or_too_long_is_not_remembered(useless: str) -> None:
    assert ids(thread("T"), {**ITEM, "thread_id": useless}, ITEM)[-1] == ("T", None)


@pytest.mark.rule("T3")
@pytest.mark.parametrize("useless", ["", "  ", "x" * 1025])
def test_a_turn_id_that_is_blank_or_too_long_is_none(useless: str) -> None:
    assert ids({**ITEM, "turn_id": "own"}, {**ITEM, "turn_id": useless}, ITEM)[-1] == (None, "own")
    assert ids(STARTED, {**STARTED, "turn_id": useless}, ITEM)[1:] == [(None, "synthetic-turn-2")] * 2


@pytest.mark.fault(
    "stream", "An invalid line arrives during a turn", "The thread and the turn continue as if the line did not exist"
)
@pytest.mark.rule("T3", "L4")
def test_a_bad_line_changes_nothing() -> None:
    context = Context()
    bad = [b"{", b"{}", b'{"type":"thread.started"}', b'{"type":"turn.started","turn_id":7}']
    for event in parse_lines([b'{"type":"thread.started","thread_id":"T"}', b'{"type":"turn.started"}', *bad]):
        if not isinstance(event, BadLine):
            context.place(event)
    assert (context.thread_id, context.turn_id) == ("T", "synthetic-turn-1")
