"""Test that repeated warnings appear once with a count, without the loss of a record."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter import Completion, Event, ExitStatus, codex_pipeline
from codex_adapter.cli.present.folding import Folding, Repeats
from codex_adapter.cli.present.lines import Line, Tone
from codex_adapter.cli.present.operations_narration import OperationsNarrator
from codex_adapter.cli.present.run_narration import RunNarrator
from codex_adapter.cli.present.terminal import LiveView
from codex_adapter.cli.present.turn_narration import TurnNarrator
from codex_adapter.cli.view.page import page
from codex_adapter.cli.view.timeline_model import Note
from codex_adapter.protocols.operations.agent_records import RecordEncoder
from codex_adapter.protocols.turns.messages import AgentEvent, CompleteEvent, LogEvent, RunResult
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    error,
    error_item,
    thread_started,
    turn_completed,
    turn_started,
)

from ..rows import rows
from .command import Cli
from .journal_lines import journal, records, runs
from .page_reader import read_page
from .test_pretty import bare

pytestmark = pytest.mark.rule("C19")

RECONNECTING = [error(f"Reconnecting... {attempt}/5 (stream closed)") for attempt in range(1, 6)]
FOLDED = ["! Reconnecting... 1/5 (stream closed)", "! 4 more times: Reconnecting... 5/5 (stream closed)"]


def events(*lines: dict[str, Any]) -> list[Event]:
    pipeline = codex_pipeline(full_payloads=True)
    return pipeline.receive_data("".join(json.dumps(line) + "\n" for line in lines).encode())


def told(*lines: dict[str, Any]) -> list[str]:
    """The texts of a run with these lines, without how it ended."""
    narrator = RunNarrator(lambda: None)
    shown = [line for event in events(*lines) for line in narrator.narrate(event)]
    return [line.text for line in [*shown, *narrator.narrate(Completion(ExitStatus(code=0), turn="completed"))[:-1]]]


def warnings(number: int, text: str = "a warning") -> list[dict[str, Any]]:
    return [error_item(f"e{place}", text) for place in range(number)]


def test_what_is_said_again_is_counted() -> None:
    assert told(*warnings(5), command_completed("c", "ls")) == ["a warning", "4 more times", "$ ls (exit 0)"]
    assert told(*warnings(2)) == ["a warning", "1 more time"]
    assert told(*warnings(1)) == ["a warning"]


def test_attempts_are_one_warning() -> None:
    shown = told(*RECONNECTING, agent_message("a", "Done."))
    assert [f"! {text}" for text in shown[:2]] == FOLDED
    assert shown[2:] == ["Done."]


def test_a_count_stands_before_the_next_different_warning() -> None:
    shown = told(*RECONNECTING, error("unexpected status 401 Unauthorized"), agent_message("a", "Done."))
    assert [f"! {text}" for text in shown[:2]] == FOLDED
    assert shown[2:] == ["unexpected status 401 Unauthorized", "Done."]


def test_attempts_after_other_work_are_news() -> None:
    work = command_completed("c", "ls")
    assert told(*RECONNECTING[:2], work, *RECONNECTING[:3]) == [
        "Reconnecting... 1/5 (stream closed)",
        "1 more time: Reconnecting... 2/5 (stream closed)",
        "$ ls (exit 0)",
        "Reconnecting... 1/5 (stream closed)",
        "2 more times: Reconnecting... 3/5 (stream closed)",
    ]


def test_an_equal_warning_between_other_work_is_counted_at_the_end() -> None:
    lines = [line for place in range(4) for line in (*warnings(1), command_completed(f"c{place}", "ls"))]
    assert told(*lines) == ["a warning", *["$ ls (exit 0)"] * 4, "3 more times: a warning"]


def test_warnings_that_alternate_are_folded_too() -> None:
    lines = [line for attempt in RECONNECTING for line in (attempt, *warnings(1, "falling back"))]
    assert told(*lines) == [
        "Reconnecting... 1/5 (stream closed)",
        "falling back",
        "4 more times: Reconnecting... 5/5 (stream closed)",
        "4 more times: falling back",
    ]


def test_kinds_that_are_not_known_are_notices() -> None:
    unknown = [{"type": "of.tomorrow", "n": number} for number in range(3)]
    assert told(*unknown) == ["unknown event of.tomorrow", "2 more times"]


@rows(
    ("one", "other", "same"),
    [
        ("Reconnecting... 1/5", "Reconnecting... 2/5", True),
        ("stream error: x; retrying 1/5 in 212ms…", "stream error: x; retrying 2/5 in 1.5s…", True),
        ("try again in 20 seconds", "try again in 1 second", True),
        ("id 0199a213-81c0-7800-8aa1-bbab2a035a53", "id 0199a214-81c0-7800-8aa1-bbab2a035a54", True),
        ("cf-ray: 9a0b1c2d3e4f5061-SJC", "cf-ray: 9a0b1c2d3e4f5062-FRA", True),
        ("request id: req_0a1B", "request id: req_0a1C", True),
        ("Reconnecting... 1/5 (status 401)", "Reconnecting... 2/5 (status 500)", False),
        ("exit status 1", "exit status 2", False),
        ("line 3 of a.toml", "line 4 of a.toml", False),
        ("skill v1", "skill v2", False),
    ],
)
def test_only_moving_parts_may_differ(one: str, other: str, same: bool) -> None:
    repeats: Repeats[str] = Repeats()
    repeats.add(one, "value")
    assert repeats.find(one) == "value"
    assert (repeats.find(other) == "value") is same


def test_errors_are_not_folded() -> None:
    lines = [Line("error", "turn failed")] * 3
    assert Folding().fold(lines) == lines


def test_what_is_remembered_is_bounded() -> None:
    folding = Folding()
    for number in range(10_000):
        folding.fold([Line("notice", f"unknown event x{number}")])
    assert folding.fold([Line("notice", "unknown event x0")]) == []
    assert folding.fold([Line("notice", "unknown event x9999")]) == [Line("notice", "unknown event x9999")]


TONES: list[Tone] = ["notice", "warning", "ok", "error"]


@given(st.lists(st.builds(Line, st.sampled_from(TONES), st.sampled_from(["a", "b", "x 1/2", "x 2/2", "y 1s"]))))
def test_each_line_is_shown_or_counted(lines: list[Line]) -> None:
    folding = Folding()
    shown = folding.fold(lines)
    pending = len(folding.pending)
    counts = folding.end()
    assert len(counts) == pending
    shown += counts
    more = [int(count[0]) for line in shown if (count := re.match(r"[0-9]+(?= more time)", line.text))]
    assert len(shown) - len(more) + sum(more) == len(lines)
    assert [line for line in shown if line.tone in ("ok", "error")] == [
        line for line in lines if line.tone in ("ok", "error")
    ]
    assert {line.text for line in shown} >= {line.text for line in lines if line.text in "ab"}
    assert (folding.end(), folding.pending) == ([], [])


def test_the_command_shows_it_so_and_keeps_the_records(cli: Cli) -> None:
    lines = [thread_started(), turn_started(), *RECONNECTING, agent_message("a", "Done."), turn_completed()]
    (cli.directory / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shown = cli.run("replay", "--format", "pretty", "run.jsonl").stdout.decode()
    assert shown.splitlines()[1:4] == [*FOLDED, "Done."]
    written = cli.run("replay", "--format", "jsonl", "run.jsonl").stdout.decode()
    assert [written.count(f"Reconnecting... {attempt}/5") for attempt in range(1, 6)] == [1] * 5
    (cli.directory / "records.jsonl").write_text(written)
    assert cli.run("view", "records.jsonl").stdout.decode().splitlines()[1:4] == [*FOLDED, "Done."]


def test_the_first_is_shown_at_once_and_the_count_below_what_runs() -> None:
    ours, theirs = os.openpty()
    try:
        view = LiveView(RunNarrator(), theirs)
        assert "! Reconnecting... 1/5" in bare(view.show(events(RECONNECTING[0])).decode())
        live = bare(view.show(events(*RECONNECTING[1:4])).decode()).rstrip()
        assert re.sub(r"\s+", " ", live).endswith("! 3 more times: Reconnecting... 4/5 (stream closed)")
        after = bare(view.show(events(agent_message("a", "Done."))).decode())
        assert after.index("3 more times") < after.index("Done.")
        assert "more times" not in bare(view.refresh().decode())
    finally:
        os.close(theirs)
        os.close(ours)


def test_a_turn_is_shown_so_too() -> None:
    common: Any = {"ts": "", "seq": 1, "external_session_id": "s", "external_run_id": "r"}
    words = TurnNarrator()
    turn: list[AgentEvent] = [
        LogEvent(**common, level="warn", message=f"Reconnecting... {attempt}/5") for attempt in range(1, 6)
    ]
    turn.append(CompleteEvent(**common, result=RunResult(success=True)))
    assert [line for event in turn for line in words.narrate(event)] == [
        Line("warning", "Reconnecting... 1/5"),
        Line("warning", "4 more times: Reconnecting... 5/5"),
        Line("ok", "the turn is complete"),
    ]


def test_the_run_of_an_agent_that_works_by_operations_is_shown_so_too() -> None:
    narrator, written = OperationsNarrator(), RecordEncoder()
    done = Completion(ExitStatus(code=0), turn="completed")
    lines = [*written.run_events(events(*warnings(3))).splitlines(), written.run_ended(done)]
    assert [line.text for record in lines for line in narrator.narrate(record)] == ["a warning", "2 more times"]


def test_the_page_shows_each_once() -> None:
    work = command_completed("c", "ls")
    lines = [
        (0, turn_started()),
        *((1, line) for line in [*RECONNECTING, work, *warnings(2), RECONNECTING[0], *warnings(3)]),
    ]
    (run,) = runs(journal(records(lines)))
    notes = [entry for entry in run.entries if isinstance(entry, Note)]
    assert [(note.text, note.times, note.last) for note in notes] == [
        ("Reconnecting... 1/5 (stream closed)", 5, "Reconnecting... 5/5 (stream closed)"),
        ("a warning", 5, "a warning"),
        ("Reconnecting... 1/5 (stream closed)", 1, ""),
    ]
    text = read_page(page([run])).text
    # In the list of troubles, and in its place.
    assert text.count("Reconnecting... 5/5 (stream closed) 5 times") == 2
    assert text.count("a warning 5 times") == 2
    assert text.count("Reconnecting... 1/5 (stream closed)") == 2
