"""Test context that is piped to a command whose prompt is an argument."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import trio
import trio.testing

from codex_adapter.cli import inputs
from codex_adapter.cli.errors import UsageError
from codex_adapter.testing import PrintJson, ReadPrompt, WriteFacts, read_facts
from codex_adapter.testing.thread_lines import turn_completed, turn_started

from .command import ADAPTER, Cli

pytestmark = pytest.mark.rule("C15")


@pytest.fixture
def agent(cli: Cli, tmp_path: Path) -> str:
    """A scripted agent that writes down its prompt."""
    facts = WriteFacts(str(tmp_path / "facts"))
    return cli.agent(ReadPrompt(), facts, PrintJson(turn_started()), PrintJson(turn_completed()))


def prompt(tmp_path: Path) -> str | None:
    return read_facts(tmp_path / "facts").prompt


@pytest.mark.parametrize(
    ("context", "appended"),
    [
        (b"one\ntwo\n", "\n\n<stdin>\none\ntwo\n</stdin>"),
        ("no newline, ü".encode(), "\n\n<stdin>\nno newline, ü\n</stdin>"),
        (b"</stdin>\n", "\n\n<stdin>\n</stdin>\n</stdin>"),
        (b"", ""),
        (b" \n\n", ""),
    ],
)
def test_what_is_piped_is_appended_as_the_cli_does_it(
    cli: Cli, agent: str, tmp_path: Path, context: bytes, appended: str
) -> None:
    done = cli.run("run", "--codex", agent, "Review this", stdin=context)
    assert (done.status, done.stderr) == (0, "")
    assert prompt(tmp_path) == f"Review this{appended}"


def test_a_redirected_file_is_appended(cli: Cli, agent: str, tmp_path: Path) -> None:
    (tmp_path / "context").write_text("of a file")
    with (tmp_path / "context").open() as file, cli.start("run", "--codex", agent, "P", stdin=file) as process:
        assert cli.finish(process).status == 0
    assert prompt(tmp_path) == "P\n\n<stdin>\nof a file\n</stdin>"


def test_a_prompt_from_standard_input_has_no_block(cli: Cli, agent: str, tmp_path: Path) -> None:
    assert cli.run("run", "--codex", agent, "-", stdin=b"All of it").status == 0
    assert prompt(tmp_path) == "All of it"


def test_what_is_not_text_is_refused_by_its_place(cli: Cli, agent: str) -> None:
    done = cli.run("run", "--codex", agent, "P", stdin=b"ab\xff")
    assert done.status == 2
    assert done.complaint.startswith("Standard input is not UTF-8 at byte 2. ")


@pytest.mark.parametrize("kind", ["pipe", "socket"])
async def test_an_open_and_silent_input_is_reported_and_then_refused(
    kind: str, capfd: pytest.CaptureFixture[str], autojump_clock: trio.testing.MockClock
) -> None:
    ours, theirs = os.pipe() if kind == "pipe" else (one.detach() for one in socket.socketpair())
    kept = os.dup(0)
    os.dup2(ours, 0)
    try:
        with pytest.raises(UsageError, match="sent nothing for 60 s"):
            await inputs.append_piped_input("P")
    finally:
        os.dup2(kept, 0)
        for fd in (ours, theirs, kept):
            os.close(fd)
    assert "Waiting for standard input" in capfd.readouterr().err


ASK = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.rule("O16")
@pytest.mark.parametrize(
    ("task", "stdin", "appended"),
    [("Review this", b"of a pipe\n", "Review this\n\n<stdin>\nof a pipe\n</stdin>"), ("-", b"All of it", "All of it")],
)
def test_a_task_has_what_is_piped_where_a_person_is_asked(
    cli: Cli, agent: str, tmp_path: Path, task: str, stdin: bytes, appended: str
) -> None:
    (tmp_path / "w").mkdir()
    master, slave = pty.openpty()
    words = ("operations", "--workspace", "w", "--approve", "ask", "--agent", "codex", "--codex", agent, "--task", task)
    program = (sys.executable, "-c", ASK, str(slave), *ADAPTER)
    with cli.start(*words, program=program, pass_fds=[slave], stdin=subprocess.PIPE) as process:
        os.close(slave)
        cli.finish(process, stdin)
    os.close(master)
    assert (prompt(tmp_path) or "").endswith(appended)


@pytest.mark.rule("O16")
def test_decisions_on_standard_input_are_no_part_of_a_task(cli: Cli, agent: str, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    words = ("operations", "--workspace", "w", "--agent", "codex", "--codex", agent, "--task")
    cli.run(*words, "Review this", stdin=b"no decision\n")
    assert (prompt(tmp_path) or "").endswith("Review this")
    done = cli.run(*words, "-", stdin=b"no decision\n")
    assert (done.status, done.stdout) == (2, b"")
    assert "--task - cannot read standard input, which has the decisions" in done.complaint


@pytest.mark.rule("C9", "C11")
@pytest.mark.parametrize(
    ("words", "awaited"),
    [
        (("serve",), "Waiting for the JSON-RPC messages of a supervisor on standard input"),
        (("operations", "--workspace", "."), "Waiting for messages with operations, or decisions,"),
    ],
)
def test_at_a_terminal_a_command_says_what_it_waits_for(cli: Cli, words: tuple[str, ...], awaited: str) -> None:
    master, slave = pty.openpty()
    with cli.start(*words, stdin=slave, start_new_session=True) as process:
        os.close(slave)
        os.write(master, b"\x04")
        done = cli.finish(process)
    os.close(master)
    assert (done.status, done.stdout) == (0, b"")
    assert done.complaint.startswith(awaited)
    assert cli.run(*words).stderr == ""
