"""Test Markdown on a terminal: rendered completely and safely, and otherwise shown as plain text."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import termios
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from codex_adapter import Completion, Event, ExitStatus, codex_pipeline
from codex_adapter.cli.present.lines import Line, plain_text, printable
from codex_adapter.cli.present.run_narration import RunNarrator
from codex_adapter.cli.present.terminal import LiveView, StyledLines
from codex_adapter.testing.thread_lines import agent_message, command_started, reasoning, turn_completed, turn_started
from tests.widths import thinned

from .command import ADAPTER, Cli
from .markdown_texts import EVERYTHING, PIECES, slow_texts
from .test_pretty import bare, on_terminal

pytestmark = pytest.mark.rule("C18", "C7")

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
DRAWN = """\
Result

Fixed one and two, not three, in guard.py: the docs
(https://example.org/a?b=c), https://auto.example,
guard (/w/guard.py:12) on its own line.

Steps

 • first
    • inner

 1 one
 2 two

▌ quoted

  def f(x): return x

name   count
────────────
left      42

"""


@pytest.fixture
def terminal() -> Iterator[int]:
    """A terminal of 60 columns."""
    ours, theirs = pty.openpty()
    resize(theirs, 60)
    yield theirs
    os.close(theirs)
    os.close(ours)


def resize(terminal: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def drawn(terminal: int, text: str, *, unbroken: bool = False) -> str:
    """What the terminal gets for a message."""
    return StyledLines(terminal, unbroken=unbroken)([Line("answer", printable(text))]).decode()


def events(*lines: dict[str, Any]) -> list[Event]:
    pipeline = codex_pipeline()
    return pipeline.receive_data("".join(json.dumps(line) + "\n" for line in lines).encode())


def test_everything_is_drawn(terminal: int) -> None:
    shown = drawn(terminal, EVERYTHING)
    assert ESCAPES.sub("", shown) == DRAWN + "-" * 60 + "\n\n"
    assert "\x1b[1;4mResult" in shown
    for style, word in (("3", "one"), ("1", "two"), ("9", "not three"), ("36", "guard.py")):
        assert f"\x1b[{style}m{word}\x1b[0m" in shown


def test_a_terminal_gets_it_from_a_run(cli: Cli) -> None:
    cli.env["TERM"] = "xterm-256color"
    lines = [turn_started(), reasoning("r", "**Plan**"), agent_message("a", "Use `x`:\n\n- **a**"), turn_completed()]
    (cli.directory / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shown = on_terminal(cli, "replay", "run.jsonl")
    assert "**" not in shown
    assert "\x1b[36mx\x1b[0m" in shown
    assert re.search(r"\x1b\[1;2;3mPlan", shown)
    assert " • a" in bare(shown)


def test_the_live_part_is_below_what_is_drawn(terminal: int) -> None:
    view = LiveView(RunNarrator(), terminal)
    shown = view.show(events(turn_started(), agent_message("a", EVERYTHING), command_started("c", "make"))).decode()
    assert bare(shown).replace("\r", "").rstrip().endswith("… command_execution (0 s)")
    assert "Result\n\nFixed one and two" in bare(shown)
    assert "one" in view.show([Completion(ExitStatus(code=0))]).decode() + shown


def test_a_text_that_grows_is_drawn_once_it_is_whole(terminal: int) -> None:
    view = LiveView(RunNarrator(), terminal)
    growing = {"type": "item.delta", "item": {"id": "a", "type": "agent_message", "text": "| a |\n|--"}}
    shown = view.show(events(turn_started(), growing)).decode()
    assert "a" not in bare(shown)
    assert bare(view.show([Completion(ExitStatus(code=1))]).decode()).startswith("\na\n─\n✗ ended")


@given(PIECES)
def test_nothing_but_colours_reaches_the_terminal(text: str) -> None:
    ours, theirs = pty.openpty()
    try:
        resize(theirs, 60)
        shown = drawn(theirs, text)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", ESCAPES.sub("", shown))
    finally:
        os.close(theirs)
        os.close(ours)


@pytest.mark.parametrize("columns", [1, 5, 20, 39])
def test_without_room_the_text_is_as_it_was(terminal: int, columns: int) -> None:
    resize(terminal, columns)
    shown = ESCAPES.sub("", drawn(terminal, EVERYTHING))
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", EVERYTHING)


@pytest.mark.parametrize("unbroken", [False, True])
@pytest.mark.parametrize("columns", [40, 60, 200])
def test_no_word_is_cut_off(terminal: int, columns: int, unbroken: bool) -> None:
    resize(terminal, columns)
    long = "".join(f"w{number}" for number in range(60))
    places = [
        f"- {long}\n  - {long}\n    - {long}",
        f"> {long}",
        f"```\n{long}\n```",
        f"# {long}",
        f"| a | b |\n|-|-|\n| {long} |",
    ]
    for text in places:
        shown = ESCAPES.sub("", drawn(terminal, text, unbroken=unbroken))
        assert re.findall(r"w[0-9]+", re.sub(r"[\s▌•]", "", shown)) == re.findall(r"w[0-9]+", long) * text.count(long)


def test_a_table_without_room_is_its_cells(terminal: int) -> None:
    names = [f"name{number}" for number in range(30)]
    table = f"| {' | '.join(names)} |\n|{'-|' * 30}\n| {' | '.join(names).upper()} |"
    shown = ESCAPES.sub("", drawn(terminal, table)).replace("\n", " ")
    assert shown.split() == [*" | ".join(names).split(), *" | ".join(names).upper().split()]


def test_no_line_ends_with_spaces(terminal: int) -> None:
    assert not re.search(r" +\n", ESCAPES.sub("", drawn(terminal, EVERYTHING + "text " * 40)))


def test_a_message_without_markdown_is_as_it_was(terminal: int) -> None:
    assert ESCAPES.sub("", drawn(terminal, "One line.\nAnother line: a_b_c, 2 * 3 * 4.")) == (
        "One line.\nAnother line: a_b_c, 2 * 3 * 4.\n"
    )


def test_elsewhere_the_text_is_as_it_was() -> None:
    narrator = RunNarrator()
    lines = [
        line for event in events(turn_started(), agent_message("a", EVERYTHING)) for line in narrator.narrate(event)
    ]
    shown = plain_text(lines).decode()
    assert shown.splitlines() == [line.rstrip() for line in EVERYTHING.split("\n")]


@pytest.mark.parametrize("name", thinned(slow_texts(64), 4))
def test_any_text_is_drawn_with_output_in_proportion(terminal: int, name: str) -> None:
    text = slow_texts(4096)[name]
    assert len(drawn(terminal, text)) <= 200 * len(text)


@pytest.mark.rule("P2")
def test_the_parser_is_loaded_for_a_message_alone(cli: Cli) -> None:
    (cli.directory / "none.jsonl").write_text(json.dumps(turn_started()) + "\n")
    (cli.directory / "one.jsonl").write_text(json.dumps(agent_message("a", "*x*")) + "\n")
    code = (
        "import sys; from codex_adapter.cli import main; status = main();"
        " sys.stdout.write('loaded' if 'markdown_it' in sys.modules else 'none'); sys.exit(status)"
    )
    cli.env["TERM"] = "xterm-256color"
    program = (ADAPTER[0], "-c", code)
    assert on_terminal(cli, "replay", "one.jsonl", program=program).endswith("loaded")
    assert on_terminal(cli, "replay", "none.jsonl", program=program).endswith("none")
    for form in ("jsonl", "text", "pretty"):
        done = cli.finish(cli.start("replay", "--format", form, "one.jsonl", program=program))
        assert done.stdout.endswith(b"none")
