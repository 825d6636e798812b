"""Test the output of the answer alone, on standard output and in a file."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import msgspec
import pytest

from codex_adapter.cli.option_names import name_time_limits
from codex_adapter.hints import ADVICE
from codex_adapter.testing import Exit, Hang, PrintJson, ReadPrompt, Step, WriteFile
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

from .command import Cli

GOOD: tuple[Step, ...] = (
    ReadPrompt(),
    PrintJson(thread_started("t")),
    PrintJson(turn_started()),
    PrintJson(agent_message("item_0", "Thinking.")),
    PrintJson(agent_message("item_1", "The answer,\nü.")),
    PrintJson(turn_completed()),
)


@pytest.mark.rule("C6", "C7")
@pytest.mark.parametrize("command", ["run", "replay"])
def test_text_is_the_final_text_and_nothing_else(cli: Cli, command: str) -> None:
    if command == "replay":
        lines = [step.value for step in GOOD if isinstance(step, PrintJson)]
        (cli.directory / "recording.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(lines))
        done = cli.run("replay", "--format", "text", "recording.jsonl")
    else:
        done = cli.run("run", "--codex", cli.agent(*GOOD), "--format", "text", "x")
    assert (done.status, done.stdout.decode(), done.stderr) == (0, "The answer,\nü.\n", "")


@pytest.mark.rule("C7")
@pytest.mark.parametrize(
    ("steps", "options", "status", "said"),
    [
        ((ReadPrompt(), Exit(3)), (), 3, "The run failed: no turn began, and the agent ended with exit status: 3."),
        ((*GOOD[:3], Exit(0)), (), 1, "its turn is cut off"),
        ((*GOOD[:3], Hang()), ("--timeout", "0.5"), 124, name_time_limits(ADVICE["time_limit"])),
    ],
    ids=["no turn", "cut off", "time limit"],
)
def test_where_there_is_no_answer_standard_error_says_why(
    cli: Cli, steps: tuple[Step, ...], options: tuple[str, ...], status: int, said: str
) -> None:
    done = cli.run("run", "--codex", cli.agent(*steps), "--format", "text", *options, "x")
    assert (done.status, done.stdout) == (status, b"")
    assert said in done.complaint


@pytest.mark.rule("C6")
def test_the_last_message_is_written_to_a_file_whole_and_for_its_owner(cli: Cli) -> None:
    done = cli.run("run", "--codex", cli.agent(*GOOD), "--last-message", "answer.txt", "x")
    answer = cli.directory / "answer.txt"
    assert (done.status, answer.read_text()) == (0, "The answer,\nü.")
    assert stat.S_IMODE(answer.stat().st_mode) == 0o600
    assert done.completion["final_text"] == "The answer,\nü."


@pytest.mark.rule("C6")
def test_the_answer_of_an_earlier_run_does_not_stay_where_this_run_has_none(cli: Cli) -> None:
    answer = cli.directory / "answer.txt"
    answer.write_text("old")
    assert cli.run("run", "--codex", cli.agent(ReadPrompt(), Exit(1)), "--last-message", "answer.txt", "x").status == 1
    assert answer.read_text() == ""


@pytest.mark.rule("C6")
def test_an_answer_that_cannot_be_written_is_a_failure_that_names_the_option(cli: Cli) -> None:
    done = cli.run("run", "--codex", cli.agent(*GOOD), "--last-message", "/dev/full", "x")
    assert done.status == 125
    assert done.complaint.startswith("--last-message: the file cannot be written (")
    assert done.completion["ok"] is True


@pytest.mark.rule("C6", "E5")
@pytest.mark.parametrize("kind", ["pipe", "socket", "directory", "missing directory"])
@pytest.mark.fault(
    "consumer", "`--last-message` names a FIFO that has no reader", "The command refuses it before the run"
)
def test_what_is_not_a_file_is_refused_before_the_run(cli: Cli, kind: str) -> None:
    path = cli.directory / "answer"
    with socket.socket(socket.AF_UNIX) as server:
        match kind:
            case "pipe":
                os.mkfifo(path)
            case "socket":
                server.bind(str(path))
            case "directory":
                path.mkdir()
            case _:
                path = cli.directory / "missing" / "answer"
        done = cli.run("run", "--codex", cli.agent(WriteFile("started")), "--last-message", str(path), "x")
    assert (done.status, done.stdout) == (2, b"")
    assert "--last-message must be a regular file" in done.complaint
    assert not (cli.directory / "started").exists()


@pytest.mark.rule("C6")
def test_no_part_of_an_answer_is_ever_in_its_place(cli: Cli, tmp_path: Path) -> None:
    cli.run("run", "--codex", cli.agent(*GOOD), "--last-message", "answer.txt", "x")
    assert [path.name for path in tmp_path.iterdir() if ".tmp" in path.name] == []


@pytest.mark.rule("C7")
def test_a_run_in_which_no_turn_began_is_not_shown_as_completed(cli: Cli) -> None:
    done = cli.run("run", "--codex", cli.agent(ReadPrompt()), "--format", "pretty", "x")
    assert b"completed, but no turn began" in done.stdout
    assert b"+ completed" not in done.stdout
