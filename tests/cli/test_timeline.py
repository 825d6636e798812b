"""Test the timeline of records: times if they are known, and the order otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter import BackendError, Event
from codex_adapter.cli.view.record_reader import RecordReader
from codex_adapter.cli.view.timeline import RunTimeline
from codex_adapter.cli.view.timeline_model import Call, Entry, Gap, Note, Text, place_of
from codex_adapter.events import Dropped
from codex_adapter.records import CompletedRecord, FailedRecord, encode_completion, encode_events
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    thread_started,
    turn_completed,
    turn_failed,
    turn_started,
)

from ..rows import rows
from .journal_lines import BEGAN, STORY, Line, journal, moments, records, runs

pytestmark = pytest.mark.rule("C10")


def one(lines: list[Line], end: Any = 0) -> RunTimeline:
    """The run of these lines."""
    (run,) = runs(journal(records(lines, end)))
    return run


def kinds(entries: list[Entry]) -> list[str]:
    """What the entries are."""
    return [type(entry).__name__ for entry in entries]


def item(phase: str, id_: str, text: str) -> dict[str, Any]:
    """One line of a message."""
    return {"type": f"item.{phase}", "item": {"id": id_, "type": "agent_message", "text": text}}


def test_a_story_is_told_with_its_times() -> None:
    run = one(STORY)
    assert run.timed
    assert run.span.seconds == pytest.approx(10)
    (turn,) = run.turns
    assert turn.outcome == "completed"
    assert turn.span.seconds == pytest.approx(9)
    assert turn.usage is not None
    assert turn.usage["input_tokens"] == 100
    assert kinds(turn.entries) == ["Text", "Call", "Note", "Call", "Text"]
    thought, command, warning, change, answer = turn.entries
    assert isinstance(thought, Text)
    assert isinstance(answer, Text)
    assert (thought.content.item_type, answer.content.item_type) == ("reasoning", "agent_message")
    assert answer.content.text == "The answer."
    assert isinstance(command, Call)
    assert command.outcome == "failed"
    assert command.seconds == pytest.approx(2.5)
    assert command.facet.tool.exit_code == 2
    assert command.described.input is not None
    assert isinstance(change, Call)
    assert (change.outcome, change.seconds) == ("completed", None)
    assert isinstance(warning, Note)
    assert warning.level == "warning"
    assert [(step.text, step.completed) for step in run.plan] == [("one", True), ("two", False)]
    assert run.session_id is not None
    assert isinstance(run.ending, CompletedRecord)
    assert run.span.began == pytest.approx(BEGAN.timestamp())


def test_without_times_there_is_the_order() -> None:
    (run,) = runs(b"".join(line for _, line in records(STORY)))
    assert not run.timed
    assert run.turns[0].span.seconds is None
    assert [call.seconds for call in run.calls] == [None, None]
    command = run.calls[0]
    assert command.span.last == command.span.first + 1


def test_snapshots_replace_fragments_are_added_and_parts_are_joined() -> None:
    long = "é" * 100_000
    lines: list[Line] = [(0, turn_started()), (1, item("started", "a", "one")), (1, item("updated", "a", "one two"))]
    lines += [(1, item("delta", "b", "left ")), (1, item("delta", "b", "open")), (1, agent_message("a", long))]
    texts = [entry for entry in one(lines).entries if isinstance(entry, Text)]
    assert [text.content.text for text in texts] == [long, "left open"]


def test_turns_end_as_they_were_said_to() -> None:
    lines: list[Line] = [(0, thread_started())]
    for end in (turn_completed(), turn_failed("x"), None):
        lines += [(1, turn_started()), (1, agent_message("a", "Hi.")), *([(1, end)] if end else [])]
    assert [turn.outcome for turn in one(lines).turns] == ["completed", "failed", "cut_off"]
    assert [turn.outcome for turn in one(lines, None).turns] == ["completed", "failed", "open"]
    failed = one(lines, BackendError("cancelled", "cancelled"))
    assert failed.turns[-1].outcome == "cut_off"
    assert isinstance(failed.ending, FailedRecord)


def test_a_turn_without_tokens_ends_too_and_what_comes_without_a_beginning_is_a_turn() -> None:
    empty_end = {"type": "turn.completed"}
    lines: list[Line] = [
        (0, turn_started()),
        (1, agent_message("a", "Hi.")),
        (1, empty_end),
        (1, agent_message("b", "Ho.")),
    ]
    run = one(lines, None)
    assert [(turn.outcome, kinds(turn.entries)) for turn in run.turns] == [("completed", ["Text"]), ("open", ["Text"])]


@pytest.mark.rule("M11")
def test_the_beginning_of_a_sub_agents_turn_changes_nothing() -> None:
    spawn = {"id": "c", "type": "collab_tool_call", "tool": "spawn_agent", "status": "completed"}
    lines: list[Line] = [(0, turn_started()), (1, {"type": "item.completed", "item": spawn}), (1, turn_started())]
    lines += [(1, agent_message("a", "Hi.")), (1, turn_completed())]
    assert [(turn.outcome, kinds(turn.entries)) for turn in one(lines).turns] == [("completed", ["Call", "Text"])]


@pytest.mark.rule("M9")
def test_a_call_without_a_result_is_unanswered_until_it_gets_one() -> None:
    lines: list[Line] = [(0, turn_started()), (1, command_started("a", "ls")), (1, turn_completed())]
    assert [call.outcome for call in one(lines).calls] == ["unanswered"]
    late: Line = (1, command_completed("a", "ls", "x"))
    run = one([*lines, late])
    assert [call.outcome for call in run.calls] == ["completed"]
    assert [call.seconds for call in run.calls] == pytest.approx([2])
    assert one(lines[:2], None).calls[0].span.last == 2


def test_an_id_that_comes_again_is_another_call() -> None:
    again: list[Line] = [(1, command_started("a", "ls")), (2, command_completed("a", "ls"))]
    run = one([(0, turn_started()), *again, *again, (1, turn_completed()), (1, turn_started()), *again])
    assert [call.outcome for call in run.calls] == ["completed"] * 3
    assert [call.seconds for call in run.calls] == pytest.approx([2] * 3)


def test_what_is_unknown_or_was_dropped_is_noted_in_words_of_ours() -> None:
    dropped = encode_events([Event(0, "codex", "tool_call", "tool", data=Dropped())])
    (run,) = runs(dropped)
    assert [entry.text for entry in run.entries if isinstance(entry, Note)] == ["details were too large to keep"]
    unknown = one([(0, {"type": "of.tomorrow", "text": "SECRET"})])
    (note,) = unknown.entries
    assert isinstance(note, Note)
    assert note.text == "event of an unknown kind: of.tomorrow"


def test_records_that_are_missing_are_a_gap_where_they_are() -> None:
    written = records(STORY)
    (run,) = runs(journal([*written[:3], *written[5:]]))
    (gap,) = [entry for entry in run.entries if isinstance(entry, Gap)]
    assert (gap.seq, gap.missing) == (5, 2)
    (tail,) = runs(journal(written[4:]))
    (gap,) = [entry for entry in tail.entries if isinstance(entry, Gap)]
    assert (gap.seq, gap.missing) == (4, 4)
    assert [moment.missing for moment in moments(journal(written))] == [0] * len(written)


def test_several_runs_in_a_file_are_told_apart() -> None:
    whole, killed = journal(records(STORY)), journal(records(STORY, None))
    assert [run.ending is not None for run in runs(whole + killed + whole)] == [True, False, True]
    refused = encode_completion(0, BackendError("spawn", "m"))
    assert [run.turns for run in runs(refused * 2)] == [[], []]


@rows(
    ("time", "seconds"),
    [
        ('"2026-11-22T07:07:02.123Z"', BEGAN.timestamp()),
        ('"2026-11-22T08:07:02.123+01:00"', BEGAN.timestamp()),
        ('"2026-11-22T07:07:02.123"', BEGAN.timestamp()),
        ('"yesterday"', None),
        ('"0001-01-01T00:00:00+23:59"', None),
        ('"9999-12-31T23:59:59-23:59"', None),
        ("null", None),
        ("true", None),
        ("{}", None),
    ],
)
def test_a_time_that_is_none_is_not_known_and_its_record_is_read(time: str, seconds: float | None) -> None:
    line = f'{{"time":{time},"type":"event","seq":0,"agent_kind":"codex","kind":"status"}}'
    (moment,) = moments(line.encode())
    assert moment.time == (None if seconds is None else pytest.approx(seconds))


def test_a_clock_that_was_set_back_makes_nothing_negative() -> None:
    lines: list[Line] = [(5, turn_started()), (0, command_started("a", "ls")), (-4, command_completed("a", "ls"))]
    run = one([*lines, (1, turn_completed())])
    assert [call.seconds for call in run.calls] == [0]
    assert run.span.seconds == 0
    assert not run.timed


@given(st.lists(st.sampled_from(STORY), max_size=20), st.booleans())
def test_any_lines_in_any_order_are_told(lines: list[Line], ended: bool) -> None:
    for run in runs(journal(records(lines, 0 if ended else None))):
        places = [place_of(entry) for entry in run.entries]
        assert places == sorted(places)
        assert all(run.span.first <= place <= (run.span.last or 0) for place in places)


@pytest.mark.parametrize("cut", [1, 7, 64, 4096])
def test_it_does_not_matter_how_the_bytes_come(cut: int) -> None:
    data = journal(records(STORY)) + b"strange\n\n" + journal(records(STORY))[:-9]
    reader = RecordReader()
    read = [moment for start in range(0, len(data), cut) for moment in reader.receive_data(data[start : start + cut])]
    assert [*read, *reader.receive_eof()] == moments(data)
    assert (reader.records, reader.invalid, reader.torn) == (2 * len(records(STORY)) - 1, 1, True)


def test_lines_that_are_no_records_are_counted_and_the_last_one_may_lack_its_newline() -> None:
    reader = RecordReader()
    line = records(STORY)[0][1].removesuffix(b"\n")
    assert len(list(reader.receive_data(b"x\n{}\n\r\n \n\xff\n" + line))) == 0
    assert len(list(reader.receive_eof())) == 1
    assert (reader.records, reader.invalid, reader.torn) == (1, 3, False)
    assert json.loads(line)["seq"] == 0
