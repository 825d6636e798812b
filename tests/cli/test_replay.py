"""Test `replay`: recordings as runs, one after the other."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    thread_started,
    turn_completed,
    turn_started,
)
from tests.widths import thinned

from .command import Cli, Done

FIXTURES = Path(__file__).parents[2] / "fixtures" / "codex"
LINES = [
    thread_started(),
    turn_started(),
    command_started("item_0", "ls"),
    command_completed("item_0", "ls", "found\n"),
]
LINES += [agent_message("item_1", "Done."), turn_completed()]


@pytest.fixture
def recording(cli: Cli) -> str:
    """A short recording."""
    path = cli.directory / "recorded.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path.name


def _recordings(version: str) -> list[Path]:
    index = [json.loads(line) for line in (FIXTURES / "index.jsonl").read_text().splitlines()]
    return [
        FIXTURES / version / f"{entry['scenario']}.jsonl"
        for entry in index
        if entry["version"] == version and entry["returncode"] == 0
    ]


@pytest.mark.rule("C2", "E1", "Y1", "W1", "W2", "W3")
@pytest.mark.parametrize("version", thinned(sorted(path.name for path in FIXTURES.iterdir() if path.is_dir()), 4))
def test_real_recordings_give_the_records_that_are_kept_beside_them(cli: Cli, version: str) -> None:
    recordings = _recordings(version)
    assert recordings
    done = cli.run("replay", *map(str, recordings))
    expected = b"".join(path.with_suffix(".events.jsonl").read_bytes() for path in recordings)
    assert done.stdout.splitlines() == expected.splitlines()
    succeeded = all(record.get("ok", True) for record in map(json.loads, expected.splitlines()))
    assert (done.status, done.stderr) == (0 if succeeded else 1, "")


@pytest.mark.rule("C2")
def test_several_files_are_several_runs(cli: Cli, recording: str) -> None:
    one = cli.run("replay", recording)
    assert one.completion["final_text"] == "Done."
    done = cli.run("replay", recording, recording)
    assert (done.status, done.stdout) == (0, one.stdout * 2)


@pytest.mark.rule("C2")
def test_standard_input_is_a_file_like_others(cli: Cli, recording: str) -> None:
    text = (cli.directory / recording).read_bytes()
    assert cli.run("replay", "-", stdin=text) == cli.run("replay", recording)
    assert cli.run("replay", recording, "-", stdin=text) == cli.run("replay", recording, recording)


@pytest.mark.rule("C2", "E1")
@pytest.mark.parametrize(
    ("given", "status", "told"),
    [
        ("0", 0, {"code": 0, "signal": None}),
        ("3", 3, {"code": 3, "signal": None}),
        ("255", 255, {"code": 255, "signal": None}),
        ("SIGKILL", 137, {"code": None, "signal": "SIGKILL"}),
        ("SIGTERM", 143, {"code": None, "signal": "SIGTERM"}),
    ],
)
def test_the_agents_end_is_ours_to_say(cli: Cli, recording: str, given: str, status: int, told: object) -> None:
    done = cli.run("replay", "--exit-status", given, recording)
    assert (done.status, done.completion["status"]) == (status, told)


@pytest.mark.fault(
    "consumer", "One of several recordings does not exist", "The command reports it and replays the others"
)
@pytest.mark.rule("C2", "E1")
def test_the_exit_status_is_the_first_that_is_not_zero_and_no_file_is_left_out(cli: Cli, recording: str) -> None:
    done = cli.run("replay", recording, "nowhere.jsonl", recording)
    assert done.status == 2
    assert done.complaint == "The recording does not exist. Pass the path of a JSON Lines file."
    outcomes = [record["outcome"] for record in done.records if record["type"] == "completion"]
    assert outcomes == ["completed", "failed", "completed"]
    assert cli.run("replay", "--exit-status", "3", recording, "nowhere.jsonl").status == 3


@pytest.mark.rule("C2")
def test_the_interval_is_the_time_before_each_line(cli: Cli, recording: str) -> None:
    begun = time.monotonic()
    done = cli.run("replay", "--interval", "0.05", recording)
    assert time.monotonic() - begun >= 0.05 * len(LINES)
    assert done == cli.run("replay", recording)
    assert cli.run("replay", "--interval", "-1", recording).status == 2


@pytest.mark.rule("C2", "M7")
def test_payloads_are_shown_when_asked_for(cli: Cli, recording: str) -> None:
    assert b"found" not in cli.run("replay", recording).stdout
    assert b"found" in cli.run("replay", "--tool-payloads", "full", recording).stdout


@pytest.mark.rule("Y2")
def test_it_needs_no_agent_and_no_environment(cli: Cli, recording: str) -> None:
    assert cli.run("replay", recording, env={}).status == 0
    assert isinstance(cli.run("replay", recording, env={"CODEX_BINARY": "/nowhere"}), Done)
