"""Test `mailbox --answer` with a command of the user and with the Codex CLI."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.testing import Die, Exit, Hang, PrintJson, ReadPrompt, Step, WriteFacts, read_facts
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

from ..runtime.survivors import Survivors
from ..waiting import until
from .command import Cli
from .mailbox_desk import Desk, done_with, kinds

pytestmark = pytest.mark.rule("C12", "I17")
TWO_ROUNDS = """
if grep -q '^Sequence: 1$'; then
    printf '[RUN_COMMAND]\\necho first > file\\n[/RUN_COMMAND]\\n'
else
    printf '[DONE]\\nBoth.\\n[/DONE]\\n'
fi
"""


@pytest.fixture
def desk(cli: Cli) -> Desk:
    """A workspace and a mailbox."""
    return Desk(cli)


def saying(text: str) -> list[Step]:
    """An agent that answers so."""
    said = agent_message("item_0", text)
    return [
        ReadPrompt(),
        PrintJson(thread_started()),
        PrintJson(turn_started()),
        PrintJson(said),
        PrintJson(turn_completed()),
    ]


def codex(desk: Desk, *steps: Step) -> list[str]:
    """The options that have this agent answer."""
    return ["--answer", "codex", "--codex", desk.cli.agent(*steps)]


def test_a_command_answers_until_the_task_is_complete(desk: Desk) -> None:
    done = desk.run("start", "--answer", desk.program("model", TWO_ROUNDS), "Make it work.")
    assert (done.status, done.stderr) == (0, "")
    assert kinds(done) == [
        *("outbox", "waiting", "answer", "result"),
        *("outbox", "waiting", "answer", "result", "done"),
    ]
    assert [record["answering"] for record in done.records if record["type"] == "waiting"] == ["command", "command"]
    assert (desk.root / "file").read_text() == "first\n"


def test_once_with_a_command_is_one_round(desk: Desk) -> None:
    desk.begun()
    model = desk.program("model", TWO_ROUNDS)
    assert kinds(desk.run("once", "--answer", model)) == ["outbox", "waiting", "answer", "result", "outbox"]
    assert kinds(desk.run("once", "--answer", model))[-1] == "done"


@pytest.mark.fault(
    "mailbox",
    "The answering command fails",
    "The mailbox command exits with status 1 and quotes its stderr; the session can continue",
)
def test_a_command_that_fails_ends_it_and_the_session_can_go_on(desk: Desk) -> None:
    done = desk.run("start", "--answer", "echo 'no \x1b[2J model' >&2; exit 3", "Make it work.")
    assert done.status == 1
    assert done.complaint == "the answering command ended with 3: no ␛[2J model"
    assert done.records[-1]["text"].startswith("No answer was received. To continue, use `mailbox resume`.")
    assert desk.run("resume", "--answer", desk.program("model", TWO_ROUNDS)).status == 0


def test_a_command_has_a_time_limit(desk: Desk) -> None:
    done = desk.run("start", "--answer", "sleep 1000", "--timeout", "0.2", "Make it work.")
    assert done.status == 1
    assert done.complaint == "the answering command took too long and was killed"


@pytest.mark.fault(
    "mailbox",
    "The mailbox receives a signal while an answering command runs",
    "It kills the answering command and its descendants",
)
def test_a_signal_kills_the_command_that_answers(desk: Desk) -> None:
    with desk.start("start", "--answer", "sleep 1000 & : > asked; wait", "Make it work.") as process:
        until((desk.cli.directory / "asked").exists)
        process.send_signal(signal.SIGTERM)
        done = desk.cli.finish(process)
    assert (done.status, done.stderr) == (143, "")
    assert Survivors(desk.cli.directory).now() == []


def test_the_agent_answers_and_is_read_only(desk: Desk) -> None:
    facts = desk.cli.directory / "facts"
    agent = codex(desk, WriteFacts(str(facts)), *saying(done_with("Done at once.")))
    done = desk.run("start", *agent, "--model", "a-model", "--env", "A=1", "Make it work.")
    assert (done.status, done.stderr) == (0, "")
    assert kinds(done) == ["outbox", "waiting", "answer", "result", "done"]
    assert done.records[-1]["summary"] == "Done at once."
    called = read_facts(facts)
    assert {"read-only", "a-model"} <= set(called.argv)
    assert (called.env["A"], Path(called.cwd).is_relative_to(desk.root)) == ("1", False)
    [journal] = desk.mailbox.glob("journal/*.jsonl")
    records: list[dict[str, Any]] = [json.loads(line) for line in journal.read_bytes().splitlines()]
    assert [record["type"] for record in records] == ["event"] * (len(records) - 1) + ["completion"]


@pytest.mark.rule("E1")
@pytest.mark.parametrize(
    ("steps", "more", "status", "told"),
    [
        ([ReadPrompt(), Exit(7)], [], 7, "the agent's run ended without an answer"),
        ([ReadPrompt(), Die("SIGSEGV")], [], 139, "the agent's run ended without an answer"),
        ([ReadPrompt(), Exit(0)], [], 1, "the agent's run ended without an answer"),
        ([ReadPrompt(), Hang()], ["--timeout", "0.3"], 124, "timeout"),
        ([ReadPrompt()], ["--timeout", "-1"], 2, "timeout must be"),
        ([ReadPrompt()], ["--idle-timeout", "-1"], 2, "--idle-timeout must be"),
        ([ReadPrompt()], ["--codex-home", ""], 2, "--codex-home must be"),
    ],
)
def test_a_run_that_fails_ends_it_as_the_run_ended(
    desk: Desk, steps: list[Step], more: list[str], status: int, told: str
) -> None:
    done = desk.run("start", *codex(desk, *steps), *more, "Make it work.")
    assert done.status == status
    assert told in done.stderr
    assert desk.mailbox.exists() is (status != 2)


def test_an_agent_that_cannot_be_found_leaves_no_session(desk: Desk) -> None:
    done = desk.run("start", "--answer", "codex", "--codex", "/no/such/codex", "Make it work.")
    assert (done.status, done.stdout) == (127, b"")
    assert not desk.mailbox.exists()


def test_a_signal_ends_the_agent(desk: Desk) -> None:
    started = desk.cli.directory / "facts"
    with desk.start("start", *codex(desk, WriteFacts(str(started)), ReadPrompt(), Hang()), "Make it work.") as process:
        until(started.exists)
        process.send_signal(signal.SIGINT)
        done = desk.cli.finish(process)
    assert (done.status, done.stderr) == (130, "")
    assert Survivors(desk.mailbox / "outbox").now() == []
    [journal] = desk.mailbox.glob("journal/*.jsonl")
    assert json.loads(journal.read_bytes().splitlines()[-1])["error"]["message"] == "cancelled"
