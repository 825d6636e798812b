"""Test the output for people: live on a terminal, plain lines elsewhere, no control codes of the agent."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import termios
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter import Completion, ExitStatus, InvalidRequestError, codex_pipeline
from codex_adapter.cli.present.lines import Line, printable
from codex_adapter.cli.present.run_narration import RunNarrator
from codex_adapter.cli.present.terminal import StyledLines
from codex_adapter.testing import PrintJson, ReadPrompt
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    error,
    error_item,
    file_change,
    reasoning,
    thread_started,
    turn_completed,
    turn_failed,
    turn_started,
)

from .command import ADAPTER, Cli

pytestmark = pytest.mark.rule("C7")
EVIL = "\x1b]0;title\x07\x1b[31mred\x9b2J\x7f\u202egnirts\r"
STEPS = [{"text": "one", "completed": True}, {"text": "two", "completed": False}]
PLAN = {"id": "item_9", "type": "todo_list", "items": STEPS}
STORY: list[dict[str, Any]] = [
    thread_started(),
    turn_started(),
    reasoning("item_0", "Let me see."),
    {"type": "item.started", "item": PLAN},
    command_started("item_1", "/bin/bash -lc 'make all'"),
    command_completed("item_1", "/bin/bash -lc 'make all'", "cc\nerror: no rule\n", exit_code=2),
    file_change("item_2", {"/w/a.txt": "add"}),
    error_item("item_3", "a warning"),
    agent_message("item_4", f"The answer.\nIn two lines. {EVIL}"),
    turn_completed(),
]
PLAIN = """\
# session 0199a213-81c0-7800-8aa1-bbab2a035a53
~ Let me see.
  [x] one
  [ ] two
> $ make all
x $ make all (failed, exit 2, 0.0 s)
  | cc
  | error: no rule
+ files: add /w/a.txt
! a warning
The answer.
In two lines. ␛]0;title␇␛[31mred\ufffd2J␡\ufffdgnirts␍
# tokens: 100 in, 20 out, 40 cached
+ completed (0.0 s)
"""


@pytest.fixture
def story(cli: Cli) -> str:
    """A recording with something of everything."""
    (cli.directory / "story.jsonl").write_text("".join(json.dumps(line) + "\n" for line in STORY))
    return "story.jsonl"


def on_terminal(cli: Cli, *words: str, program: tuple[str, ...] = ADAPTER) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    written = b""
    with cli.start(*words, program=program, stdout=theirs) as process:
        before = fcntl.fcntl(theirs, fcntl.F_GETFL)
        while process.poll() is None or _waiting(ours):
            if _waiting(ours):
                written += os.read(ours, 65_536)
        assert fcntl.fcntl(theirs, fcntl.F_GETFL) == before
        assert cli.finish(process).stderr == ""
    os.close(theirs)
    os.close(ours)
    return written.decode()


def _waiting(fd: int) -> bool:
    return bool(select.select([fd], [], [], 0.01)[0])


def bare(text: str) -> str:
    """Without colours and cursor movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_elsewhere_than_on_a_terminal_it_is_plain_lines(cli: Cli, story: str) -> None:
    done = cli.run("replay", "--format", "pretty", story)
    assert (done.status, done.stderr) == (0, "")
    assert re.sub(r"[0-9]\.[0-9] s", "0.0 s", done.stdout.decode()) == PLAIN


def test_a_terminal_gets_it_by_default_with_colours(cli: Cli, story: str) -> None:
    cli.env["TERM"] = "xterm-256color"
    shown = on_terminal(cli, "replay", story)
    assert "\x1b[32m" in shown
    text = bare(shown)
    for expected in ("Let me see.", "✗ $ make all (failed, exit 2", "│ error: no rule", "✓ files: add /w/a.txt"):
        assert expected in text
    for expected in ("[x] one", "[ ] two", "The answer.", "✓ completed", "tokens: 100 in, 20 out, 40 cached"):
        assert expected in text
    assert text.index("Let me see.") < text.index("make all") < text.index("The answer.") < text.index("✓ completed")


def test_what_runs_is_shown_while_it_runs(cli: Cli) -> None:
    cli.env["TERM"] = "xterm-256color"
    (cli.directory / "running.jsonl").write_text(json.dumps(command_started("item_0", "make all")) + "\n")
    shown = on_terminal(cli, "replay", "--interval", "0.4", "running.jsonl")
    assert re.search(r"… \$ make all \([0-9] s\)", bare(shown))


def test_the_agents_control_codes_do_not_reach_the_terminal(cli: Cli, story: str) -> None:
    cli.env["TERM"] = "xterm-256color"
    shown = on_terminal(cli, "replay", story)
    assert "␛]0;title␇␛[31mred" in shown
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202e]|\x1b\]|\x1b\[2J", shown)


def test_no_color_is_honoured(cli: Cli, story: str) -> None:
    cli.env |= {"TERM": "xterm-256color", "NO_COLOR": "1"}
    assert not re.search(r"\x1b\[[0-9;]*3[0-9][;m]", on_terminal(cli, "replay", story))


@pytest.mark.parametrize("term", [None, "dumb"])
def test_a_terminal_that_can_do_nothing_gets_plain_lines(cli: Cli, story: str, term: str | None) -> None:
    if term is not None:
        cli.env["TERM"] = term
    assert on_terminal(cli, "replay", story).replace("\r\n", "\n").startswith(PLAIN.partition("x $")[0])


def test_without_rich_a_terminal_gets_plain_lines(cli: Cli, story: str) -> None:
    cli.env["TERM"] = "xterm-256color"
    code = "import sys; sys.modules['rich'] = None; from codex_adapter.cli import main; sys.exit(main())"
    shown = on_terminal(cli, "replay", story, program=(ADAPTER[0], "-c", code))
    assert shown.replace("\r\n", "\n").startswith(PLAIN.partition("x $")[0])


@pytest.mark.rule("W1")
def test_records_on_a_terminal_are_to_be_asked_for(cli: Cli, story: str) -> None:
    cli.env["TERM"] = "xterm-256color"
    assert on_terminal(cli, "replay", "--format", "jsonl", story).startswith('{"type":"event","seq":0')


@pytest.mark.rule("M7")
@pytest.mark.parametrize(("words", "shown"), [((), True), (("--tool-payloads", "metadata"), False)])
def test_a_run_shows_its_commands_if_nothing_else_was_said(cli: Cli, words: tuple[str, ...], shown: bool) -> None:
    agent = cli.agent(ReadPrompt(), *map(PrintJson, STORY))
    done = cli.run("run", "--format", "pretty", "--codex", agent, *words, "Hi.")
    assert done.status == 0
    assert (b"$ make all" in done.stdout) is shown
    assert b"command_execution" in done.stdout or shown


def test_a_refusal_is_told(cli: Cli) -> None:
    done = cli.run("run", "--format", "pretty", "--timeout", "-1", "Hi.")
    assert done.status == 2
    assert done.stdout.startswith(b"! failed: --timeout must be")


def test_the_end_tells_how_the_turn_ended() -> None:
    narrator = RunNarrator(lambda: 0.0)
    assert narrator.narrate(Completion(ExitStatus(code=3))) == [Line("failed", "ended with exit status: 3 (0.0 s)")]
    assert (
        narrator.narrate(Completion(ExitStatus(code=0), turn="failed"))[-1].text
        == "completed, but the turn failed (0.0 s)"
    )
    assert narrator.narrate(Completion(ExitStatus(code=0), turn="cut_off"))[-1].tone == "error"
    assert narrator.narrate(InvalidRequestError("no")) == [Line("error", "failed: no (0.0 s)")]


def test_each_text_is_told_once_and_whole() -> None:
    long = "é" * 100_000
    lines: list[dict[str, Any]] = [
        {"type": "item.started", "item": {"id": "a", "type": "agent_message", "text": "one"}},
        {"type": "item.updated", "item": {"id": "a", "type": "agent_message", "text": "one two"}},
        {"type": "item.delta", "item": {"id": "b", "type": "agent_message", "text": "left "}},
        {"type": "item.delta", "item": {"id": "b", "type": "agent_message", "text": "open"}},
        agent_message("a", long),
        turn_failed("x"),
        error("Reconnecting... 1/5"),
    ]
    narrator, pipeline = RunNarrator(lambda: 0.0), codex_pipeline()
    events = pipeline.receive_data("".join(json.dumps(line) + "\n" for line in lines).encode())
    told = [line for event in events for line in narrator.narrate(event)]
    assert told == [Line("answer", long), Line("error", "turn failed"), Line("warning", "Reconnecting... 1/5")]
    assert narrator.narrate(Completion(ExitStatus(code=0)))[0] == Line("answer", "left open")


def test_a_tool_call_is_timed_from_its_start() -> None:
    clock = iter([0.0, 1.0, 3.5])
    narrator, pipeline = RunNarrator(lambda: next(clock)), codex_pipeline(full_payloads=True)
    events = pipeline.receive_data(json.dumps(command_started("i", "ls")).encode() + b"\n")
    events += pipeline.receive_data(json.dumps(command_completed("i", "ls")).encode() + b"\n")
    told = [line for event in events for line in narrator.narrate(event)]
    assert told == [Line("started", "$ ls"), Line("ok", "$ ls (exit 0, 2.5 s)")]


@given(st.text())
def test_printable_text_has_nothing_that_a_terminal_obeys(text: str) -> None:
    shown = printable(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert printable(shown) == shown


@pytest.mark.rule("C7")
@pytest.mark.fault(
    "environment", "A terminal reports a width of zero", "The command prints text as on any other terminal"
)
def test_a_terminal_without_a_size_shows_text() -> None:
    reading, terminal = os.openpty()
    try:
        assert os.get_terminal_size(terminal) == (0, 0)
        assert b"all is well" in StyledLines(terminal)([Line("ok", "all is well")])
    finally:
        os.close(reading)
        os.close(terminal)
