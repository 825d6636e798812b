"""Test that a recorded stream yields thread events with their line numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_adapter import NumberedLine, read_thread_events
from codex_adapter.agents.codex.stream.lines import AgentMessage, ItemCompleted, ThreadStarted, TurnStarted
from codex_adapter.core.bad_lines import BadLine

CODEX = Path(__file__).parents[3] / "fixtures" / "codex"


@pytest.mark.rule("P4", "T1", "T3")
def test_a_recording_is_read_as_numbered_thread_events() -> None:
    lines = list(read_thread_events(CODEX / "0.98.0" / "message.jsonl"))
    assert [line.number for line in lines] == [1, 2, 3, 4]
    first, second, third, fourth = (line.event for line in lines)
    assert isinstance(first, ThreadStarted)
    assert isinstance(second, TurnStarted)
    assert isinstance(third, ItemCompleted)
    assert isinstance(third.item, AgentMessage)
    assert not isinstance(fourth, BadLine)
    assert {event.thread_id for event in (first, second, third, fourth)} == {first.thread_id}
    assert {event.turn_id for event in (second, third, fourth)} == {"synthetic-turn-1"}


@pytest.mark.rule("P4", "L1", "L3", "L4")
def test_blank_lines_are_not_counted_and_bad_lines_are_given_as_such(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(b'\n{"type":"turn.started"}\r\n  \n{canary\n{"type":"turn.started"}')
    lines = list(read_thread_events(str(path)))
    assert lines == [
        NumberedLine(1, TurnStarted(turn_id="synthetic-turn-1")),
        NumberedLine(2, BadLine("codex stream parse error (redacted): malformed JSON at byte 1 (line_bytes=7)")),
        NumberedLine(3, TurnStarted(turn_id="synthetic-turn-2")),
    ]


@pytest.mark.rule("P4", "L5")
def test_a_recording_larger_than_one_read_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(b'{"type":"turn.started"}\n' * 20_000)
    assert [line.number for line in read_thread_events(path)] == list(range(1, 20_001))


@pytest.mark.rule("P4")
def test_the_lines_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(b'{"type":"turn.started"}\n' * 10_000)
    lines = read_thread_events(path)
    assert next(lines).number == 1
    with path.open("r+b") as file:
        file.truncate(100_000)
    assert sum(1 for _ in lines) < 9_999


@pytest.mark.rule("P4")
def test_a_recording_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        next(read_thread_events(tmp_path / "missing.jsonl"))


@pytest.mark.rule("P4")
def test_an_empty_recording_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.touch()
    assert list(read_thread_events(path)) == []
