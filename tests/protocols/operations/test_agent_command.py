"""Test `codex-adapter operations --agent` as a process: statuses, signals and command line."""

from __future__ import annotations

import os
import pty
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.testing import Die, Exit, Hang, IgnoreSignals, PrintJson, ReadPrompt, Step, WriteFacts, read_facts
from codex_adapter.testing.thread_lines import thread_started
from tests.widths import thinned

from ...cli.command import ADAPTER, Cli, Done
from ...cli.test_operations_asked import ASKED, TAKE_THE_TERMINAL
from .agent_stage import DONE, message_of, saying
from .workbench import shell

pytestmark = pytest.mark.rule("O17")

REMOVE = message_of(shell("rm -r temp", id="rm-1"))
ENDLESS = message_of(shell("true"))


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line, with a workspace in its directory."""
    (tmp_path / "ws").mkdir()
    return Cli(tmp_path)


def words(cli: Cli, *steps: Step) -> list[str]:
    """The words of a command line with this agent."""
    agent = ("--agent", "codex", "--codex", cli.agent(*steps), "--task", "Do it.")
    return ["operations", "--workspace", str(cli.directory / "ws"), *agent]


def ended(done: Done) -> dict[str, Any]:
    """The last record, its place checked."""
    records = done.records
    assert [record["seq"] for record in records] == list(range(len(records)))
    assert [record["type"] for record in records].count("ended") == 1
    assert records[-1]["type"] == "ended"
    return records[-1]


@pytest.mark.parametrize(
    ("steps", "more", "reason", "status"),
    [
        (saying(DONE), [], "completed", 0),
        (saying("Hm."), [], "failed", 125),
        (saying(ENDLESS), ["--turns", "2"], "turn_limit", 124),
        (saying(REMOVE), [], "awaiting_approval", 75),
        ([ReadPrompt(), Exit(7)], [], "failed", 7),
        ([ReadPrompt(), Die("SIGSEGV")], [], "failed", 139),
        ([ReadPrompt(), Hang()], ["--timeout", "0.5"], "failed", 124),
        (saying(DONE), ["--timeout", "-1"], "failed", 2),
    ],
)
def test_the_status_says_how_the_work_ended(
    cli: Cli, steps: list[Step], more: list[str], reason: str, status: int
) -> None:
    done = cli.run(*words(cli, *steps), *more)
    assert (done.status, ended(done)["reason"]) == (status, reason)
    assert done.stderr.count("\n") <= 2  # the end, and the next step


def test_an_agent_that_cannot_be_found_gives_127(cli: Cli) -> None:
    done = cli.run(*words(cli)[:4], "codex", "--task", "x", "--codex", "/missing")
    assert (done.status, ended(done)["reason"]) == (127, "failed")
    assert done.complaint.startswith("The path in --codex does not exist")


def test_the_options_of_the_agent_arrive(cli: Cli) -> None:
    home = cli.directory / "home"
    home.mkdir()
    facts = cli.directory / "facts"
    options = ["--codex-home", str(home), "--model", "a-model", "--env", "NAME=value", "--idle-timeout", "60"]
    assert cli.run(*words(cli, WriteFacts(str(facts)), *saying(DONE)), *options).status == 0
    seen = read_facts(facts)
    assert (seen.env["CODEX_HOME"], seen.env["NAME"]) == (str(home), "value")
    assert seen.argv[seen.argv.index("--model") + 1] == "a-model"


@pytest.mark.rule("O16")
def test_decisions_are_read_from_standard_input(cli: Cli) -> None:
    decision = b'{"approval":{"operationId":"rm-1","decision":"denied"}}\n'
    done = cli.run(*words(cli, *saying(REMOVE)), "--turns", "1", stdin=decision)
    assert (done.status, ended(done)["reason"]) == (124, "turn_limit")
    asked, came = [record["message"] for record in done.records if record["type"] == "events"]
    assert (asked["status"], came["events"][0]["type"]) == ("awaiting_approval", "policyDenied")


@pytest.mark.rule("O16", "O14")
def test_the_person_at_the_terminal_is_asked_in_place_of_standard_input(cli: Cli) -> None:
    master, terminal = pty.openpty()
    taking = (sys.executable, "-c", TAKE_THE_TERMINAL, str(terminal), *ADAPTER)
    command = [*words(cli, *saying(REMOVE)), "--turns", "1", "--approve", "ask"]
    with cli.start(*command, program=taking, pass_fds=[terminal]) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"approval":{"operationId":"rm-1","decision":"approved"}}\n')
        process.stdin.close()
        process.stdin = None
        seen = b""
        while not seen.endswith(ASKED.encode()):
            seen += os.read(master, 4096)
        os.write(master, b"n keep it\n")
        done = cli.finish(process)
    os.close(terminal)
    os.close(master)
    assert (done.status, ended(done)["reason"]) == (124, "turn_limit")
    came = [record["message"]["events"][-1] for record in done.records if record["type"] == "events"][-1]
    assert (came["type"], came["reason"]) == ("policyDenied", "keep it")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.fault(
    "workspace",
    "The command receives a signal while an agent works through operations",
    "The command ends the agent's run and stops the work",
)
def test_a_signal_stops_the_work(cli: Cli, number: signal.Signals) -> None:
    with cli.start(*words(cli, ReadPrompt(), PrintJson(thread_started()), Hang())) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(number)
        done = cli.finish(process)
    assert (done.status, done.stderr) == (128 + number, "")
    assert ended(done._replace(stdout=first + done.stdout))["reason"] == "stopped"


def test_a_second_signal_kills(cli: Cli) -> None:
    stubborn: list[Step] = [IgnoreSignals(("SIGINT", "SIGTERM")), ReadPrompt(), PrintJson(thread_started()), Hang()]
    with cli.start(*words(cli, *stubborn)) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        done = cli.finish(process)
    assert done.status in (143, 130)
    assert ended(done._replace(stdout=first + done.stdout))["reason"] == "stopped"


@pytest.mark.fault("workspace", "The reader closes the output while an agent works", "The work stops with status 141")
def test_a_closed_output_stops_the_work(cli: Cli) -> None:
    with cli.start(*words(cli, ReadPrompt(), PrintJson(thread_started()), Hang())) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        done = cli.finish(process)
    assert (done.status, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.rule("E5")
@pytest.mark.parametrize(
    ("options", "complaint"),
    thinned(
        [
            (["--task", "x"], "--task needs an agent. Specify --agent codex, too"),
            (["--turns", "3"], "--turns needs an agent"),
            (["--idle-timeout", "3"], "--idle-timeout needs an agent"),
            (["--agent", "other", "--task", "x"], "--agent must be claude_code, codex or pi"),
            (["--agent", "codex"], "--task is missing"),
            (["--agent", "codex", "--task", " "], "--task is missing"),
            (["--agent", "codex", "--task", "x", "--turns", "0"], "--turns must be a whole number"),
            (["--agent", "codex", "--task", "x", "--audit"], "--agent and --audit exclude each other"),
            (["--agent", "codex", "--task", "x", "--env", "NOT_SET"], "--env: number 1 is not set here"),
        ],
        3,
    ),
)
def test_a_wrong_command_line_starts_nothing(cli: Cli, options: list[str], complaint: str) -> None:
    done = cli.run("operations", "--workspace", "ws", *options)
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith(complaint)
    assert list((cli.directory / "ws").iterdir()) == []
