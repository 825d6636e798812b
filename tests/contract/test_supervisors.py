"""Run the three supervisor examples of README.md without changes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from codex_adapter.testing import Exit, PrintJson, ReadPrompt, Step, WriteFacts, read_facts, write_agent
from codex_adapter.testing.thread_lines import (
    THREAD_ID,
    agent_message,
    command_completed,
    command_started,
    reasoning,
    thread_started,
    turn_completed,
    turn_failed,
    turn_started,
)

from ..cli.command import Cli, Done

README: Final = Path(__file__).parents[2] / "README.md"
BLOCK: Final = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT: Final = "Fix the failing test"
LINES: Final = (
    thread_started(),
    turn_started(),
    reasoning("item_0", "Look first."),
    command_started("item_1", "make"),
    command_completed("item_1", "make", "no rule\n", exit_code=2),
    agent_message("item_2", "Fixed: “ü”."),
)
GOOD: Final = (*map(PrintJson, LINES), PrintJson(turn_completed()))
BAD: Final = (*map(PrintJson, LINES), PrintJson(turn_failed("no luck")), Exit(3))
# Line ends to some, and to JSON none: U+2028, U+2029, U+0085.
ODD: Final = "one\u2028two\u2029three\x85four"

Run = Callable[..., str]


def example(language: str, mark: str) -> str:
    """The one example in this language that has this in it."""
    found = [block["text"] for block in BLOCK.finditer(README.read_text()) if block["language"] == language]
    (text,) = [text for text in found if mark in text]
    return text


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.fixture
def run(cli: Cli, tmp_path: Path) -> Run:
    """Runs words in a home with `codex-adapter` on its PATH and a workspace, with an agent of these steps."""
    command = tmp_path / "bin" / "codex-adapter"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m codex_adapter \"$@\"\n")
    command.chmod(0o755)
    (tmp_path / "src" / "app").mkdir(parents=True)
    cli.env["PATH"] = f"{command.parent}:{cli.env['PATH']}"

    def run(words: tuple[str, ...], *steps: Step, status: int = 0) -> str:
        cli.env["CODEX_BINARY"] = write_agent(
            tmp_path / "agent", [ReadPrompt(), WriteFacts(f"{tmp_path}/facts"), *steps]
        )
        with cli.start(*words, program=(), stdin=subprocess.DEVNULL) as process:
            done: Done = cli.finish(process)
        assert (done.status, done.stderr) == (status, "")
        assert read_facts(tmp_path / "facts").prompt == PROMPT
        return done.stdout.decode()

    return run


@needs("jq")
@pytest.mark.rule("C1", "C7", "F11", "W1", "W2")
@pytest.mark.parametrize(
    ("steps", "last", "status"),
    [(GOOD, "true", 0), (BAD, "false", 1)],
    ids=["a turn that went well", "a turn that failed"],
)
def test_the_example_for_a_shell_works(
    run: Run, tmp_path: Path, steps: tuple[Step, ...], last: str, status: int
) -> None:
    text = example("sh", "jq -re")
    assert run(("/bin/sh", "-c", text), *steps, status=status) == f"Look first.\nFixed: “ü”.\n{last}\n"
    assert read_facts(tmp_path / "facts").cwd == str(tmp_path / "src" / "app")


@needs("jq")
@pytest.mark.rule("C9", "C10", "J4", "J12")
def test_the_example_of_a_daemon_works(run: Run, cli: Cli, tmp_path: Path) -> None:
    assert callable(run)  # it has put the command on the PATH
    cli.env["CODEX_BINARY"] = write_agent(tmp_path / "agent", [ReadPrompt(), *GOOD])
    words = ("/bin/sh", "-c", example("sh", "codex-adapter serve"))
    with cli.start(*words, program=(), stdin=subprocess.DEVNULL) as process:
        done: Done = cli.finish(process)
    assert (done.status, done.stderr) == (0, "")
    told = done.stdout.decode().splitlines()
    assert sorted(told[:2]) == ['["a","Fixed: “ü”."]', '["b","Fixed: “ü”."]']
    assert "Fixed: “ü”." in (cli.directory / "runs" / "a.html").read_text()


@needs("node")
@pytest.mark.rule("C1", "W1", "W2", "W3")
@pytest.mark.parametrize(
    ("steps", "last"),
    [(GOOD, "true completed Fixed: “ü”.\n"), (BAD, "false failed undefined\n")],
    ids=["a turn that went well", "a turn that failed"],
)
def test_the_example_for_node_works(run: Run, tmp_path: Path, steps: tuple[Step, ...], last: str) -> None:
    (tmp_path / "supervisor.mjs").write_text(example("js", "spawn"))
    assert run(("node", "supervisor.mjs", PROMPT), *steps) == f"command_execution failed\n{last}"


@needs("node")
@pytest.mark.rule("W3", "L1")
def test_the_example_for_node_takes_what_is_a_line_end_to_some(run: Run, tmp_path: Path) -> None:
    (tmp_path / "supervisor.mjs").write_text(example("js", "spawn"))
    steps = (PrintJson(thread_started()), PrintJson(turn_started()), PrintJson(agent_message("item_0", ODD)))
    assert run(("node", "supervisor.mjs", PROMPT), *steps, PrintJson(turn_completed())) == f"true completed {ODD}\n"


@pytest.mark.rule("P1", "F2", "F3", "K1")
@pytest.mark.parametrize(
    ("steps", "last"),
    [(GOOD, f"True completed {THREAD_ID}\n"), (BAD, f"False failed {THREAD_ID}\n")],
    ids=["a turn that went well", "a turn that failed"],
)
def test_the_example_for_python_works(run: Run, tmp_path: Path, steps: tuple[Step, ...], last: str) -> None:
    text, place = example("python", "async with open_run"), "/home/me/src/app"
    assert text.count(f'"{place}"') == 1
    (tmp_path / "program.py").write_text(text.replace(place, str(tmp_path / "src" / "app")))
    assert run((sys.executable, "program.py"), *steps) == f"Look first.\nFixed: “ü”.\n{last}"
    assert read_facts(tmp_path / "facts").cwd == str(tmp_path / "src" / "app")


@pytest.mark.rule("P7", "F11")
def test_the_example_without_an_event_loop_works(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(example("python", "sync.open_run"))
    cli.env["CODEX_BINARY"] = write_agent(tmp_path / "agent", [ReadPrompt(), *GOOD])
    with cli.start(sys.executable, "program.py", program=(), stdin=subprocess.DEVNULL) as process:
        done: Done = cli.finish(process)
    assert (done.status, done.stderr) == (0, "")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "Fixed: “ü”."
    assert "text_output Fixed: “ü”." in lines
    assert lines[-1] == "True"
