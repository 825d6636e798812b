"""Test the example supervisors in each language."""

from __future__ import annotations

import json
import os
import signal
import unicodedata

import pytest

from codex_adapter.testing import Exit, Hang, PrintJson, ReadPrompt, Repeat, Step
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    thread_started,
    turn_completed,
    turn_failed,
    turn_started,
)

from ..waiting import SOON
from .example import Example, said_of_runs

BEGUN: tuple[Step, ...] = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()))
TOOL = (
    PrintJson(command_started("item_0", "make")),
    PrintJson(command_completed("item_0", "make", "no rule\n", exit_code=2)),
)
GOOD = (
    *BEGUN,
    *TOOL,
    PrintJson(agent_message("item_1", "Fixed.\n\x1b[31mYes: ü.\x9b1m\x7f")),
    PrintJson(turn_completed()),
)
BAD = (*BEGUN, PrintJson(turn_failed("no luck")), Exit(3))
HANGING = (*BEGUN, Hang())
FLOOD = (*BEGUN, Repeat(json.dumps(agent_message("item_0", "x" * 1000))))
MANY = 500
"""Events of a run; several times the credit that an example gives."""
LONG = (
    *BEGUN,
    *(PrintJson(agent_message(f"item_{n}", f"Message {n}.")) for n in range(MANY)),
    PrintJson(turn_completed()),
)


@pytest.mark.rule("C9", "J3", "J4", "J8")
def test_several_runs_complete(example: Example) -> None:
    done = example.run("one", "two", "three", agent=example.agent(*GOOD), options=("--max-runs", "2"))
    assert (done.status, done.stderr) == (0, "")
    said = said_of_runs(done)
    assert sorted(said) == ["1", "2", "3"]
    for lines in said.values():
        assert lines[-4] == "tool_result command_execution failed"
        assert not [character for character in "".join(lines) if unicodedata.category(character) == "Cc"]
        assert lines[-1].startswith('completed completed "Fixed.')


@pytest.mark.rule("C9", "J4", "J9")
def test_runs_that_say_more_than_the_credit_come_whole_and_in_order(example: Example) -> None:
    done = example.run("one", "two", "three", agent=example.agent(*LONG))
    assert (done.status, done.stderr) == (0, "")
    for lines in said_of_runs(done).values():
        texts = [line for line in lines if line.startswith("text_output")]
        assert texts == [f'text_output "Message {n}."' for n in range(MANY)]


@pytest.mark.rule("C9", "J4")
def test_one_run_that_fails_among_others_is_told_in_the_end(example: Example) -> None:
    bad, good = example.agent(*BAD, name="bad"), example.agent(*GOOD, name="good")
    # The first of the runs to come here fails.
    agent = example.program(f'[ "$1" = --version ] || ! mkdir failed 2>&- || exec {bad} "$@"\nexec {good} "$@"')
    done = example.run("one", "two", "three", agent=agent)
    assert (done.status, done.stderr) == (1, "")
    ends = sorted(lines[-1].split('"')[0].strip() for lines in said_of_runs(done).values())
    assert ends == ["completed completed", "completed completed", "completed failed"]


@pytest.mark.rule("C9", "J3", "J5")
def test_a_run_that_is_refused_is_told_in_the_end(example: Example) -> None:
    done = example.run("", agent=example.agent(*GOOD))
    assert (done.status, done.stderr) == (1, "")
    (lines,) = said_of_runs(done).values()
    assert len(lines) == 1
    assert lines[0].startswith("refused invalid_request")


@pytest.mark.rule("C9", "J3")
def test_a_daemon_that_cannot_be_started_is_told(example: Example) -> None:
    done = example.run("one", agent="codex", options=("--max-rums", "2"))
    assert done.status == 1
    assert "--max-rums" in done.stderr
    assert "supervisor: the daemon ended with" in done.stderr


@pytest.mark.rule("C9", "J3")
def test_a_daemon_that_is_not_there_is_told(example: Example) -> None:
    example.examples.cli.env["PATH"] = os.defpath
    done = example.run("one", agent="codex")
    assert (done.status, done.stdout) == (1, b"")
    assert "supervisor: " in done.stderr


@pytest.mark.rule("C9", "J11", "N2")
def test_a_daemon_that_is_killed_in_the_middle_of_a_line_is_told_and_leaves_nothing(example: Example) -> None:
    with example.start("one", "two", agent=example.agent(*FLOOD)) as under_way:
        under_way.until("-1 status", "-2 status")
        os.kill(under_way.daemon(), signal.SIGKILL)
        done = under_way.finish()
    assert done.status == 1
    assert "supervisor: the daemon ended with " in done.stderr
    assert example.examples.survivors.soon() == []


@pytest.mark.rule("C9", "J3", "J11")
@pytest.mark.parametrize("steps", [HANGING, FLOOD], ids=["hanging", "flooding"])
def test_ctrl_c_cancels_all_runs(example: Example, steps: tuple[Step, ...]) -> None:
    with example.start("one", "two", agent=example.agent(*steps)) as under_way:
        under_way.until("-1 status", "-2 status")
        os.killpg(under_way.process.pid, signal.SIGINT)
        done = under_way.finish()
    assert (done.status, done.stderr) == (130, "")
    assert {run: lines[-1] for run, lines in said_of_runs(done).items()} == dict.fromkeys("12", 'failed "cancelled"')


@pytest.mark.rule("C9", "J3", "J11")
def test_sigterm_to_the_example_alone_cancels_all_runs(example: Example) -> None:
    with example.start("one", "two", agent=example.agent(*HANGING)) as under_way:
        under_way.until("-1 status", "-2 status")
        under_way.process.terminate()
        done = under_way.finish()
    assert (done.status, done.stderr) == (143, "")
    assert {run: lines[-1] for run, lines in said_of_runs(done).items()} == dict.fromkeys("12", 'failed "cancelled"')


@pytest.mark.rule("C9", "J10")
def test_an_example_that_is_killed_leaves_nothing(example: Example) -> None:
    with example.start("one", "two", agent=example.agent(*HANGING)) as under_way:
        under_way.until("-1 status")
        under_way.process.kill()
        assert under_way.process.wait(SOON) == -signal.SIGKILL
    assert example.examples.survivors.soon(SOON) == []


@pytest.mark.rule("C9", "J10")
def test_an_example_whose_reader_leaves_ends_and_leaves_nothing(example: Example) -> None:
    with example.start("one", "two", agent=example.agent(*FLOOD)) as under_way:
        under_way.until("-1 status")
        assert under_way.process.stdout is not None
        under_way.process.stdout.close()
        assert under_way.process.wait(SOON) != 0
    assert example.examples.survivors.soon(SOON) == []


@pytest.mark.rule("C9", "J3", "Q2")
@pytest.mark.parametrize("language", ["node"], indirect=True)
def test_requests_in_a_file_are_carried_out(example: Example) -> None:
    requests = [{"prompt": "one"}, {"prompt": "two", "timeout": 60}, {"prompt": "three", "tiemout": 60}]
    (example.directory / "requests.jsonl").write_text("\n".join(map(json.dumps, requests)) + "\n\n")
    done = example.run("--file", "requests.jsonl", agent=example.agent(*GOOD))
    assert (done.status, done.stderr) == (1, "")
    said = said_of_runs(done)
    assert [said[run][-1].split(" ")[0] for run in "123"] == ["completed", "completed", "refused"]
