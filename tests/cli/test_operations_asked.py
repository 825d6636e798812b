"""Test `operations --approve ask`: the question on the terminal and the effect of the answer."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..waiting import SOON
from .command import ADAPTER, Cli

ASKED = "Execute it? Type y for yes, n for no, or n and a reason: "
TAKE_THE_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
os.execv(sys.argv[2], sys.argv[2:])
"""


class Desk:
    """The command with a terminal that is not its standard input or output, and a person at it."""

    def __init__(self, cli: Cli, root: Path) -> None:
        self.root = root
        self._master, self._slave = pty.openpty()
        words = [*ADAPTER, "operations", "--workspace", str(root), "--approve", "ask"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE_THE_TERMINAL, str(self._slave), *words],
            cwd=cli.directory,
            env=cli.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[self._slave],
        )
        os.close(self._slave)

    def send(self, *operations: dict[str, Any]) -> None:
        """A message of these operations."""
        assert self.process.stdin is not None
        self.process.stdin.write(
            json.dumps({"protocolVersion": "1.0", "operations": list(operations)}).encode() + b"\n"
        )
        self.process.stdin.flush()

    def asked(self) -> str:
        """What is on the terminal up to the question."""
        seen = b""
        while not seen.endswith(ASKED.encode()):
            seen += os.read(self._master, 4096)
        return seen.decode().replace("\r\n", "\n")

    def type(self, text: str) -> None:
        """Type this."""
        os.write(self._master, text.encode())

    def hang_up(self) -> None:
        """Close the terminal."""
        os.close(self._master)
        self._master = -1

    def answer(self) -> Any:
        """The next answer."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """End it."""
        if self._master >= 0:
            self.hang_up()
        with self.process:
            self.process.kill()


@pytest.fixture
def desk(cli: Cli) -> Iterator[Desk]:
    """One."""
    root = cli.directory / "workspace"
    root.mkdir()
    desk = Desk(cli, root)
    yield desk
    desk.close()


@pytest.mark.rule("O14")
def test_a_person_sees_the_command_and_approves_it(desk: Desk) -> None:
    desk.send({"type": "shell", "command": "rm -rf a\nls", "env": {"X": "1"}}, {"type": "message", "content": "."})
    assert desk.answer()["status"] == "awaiting_approval"
    seen = desk.asked()
    assert "An agent requests shell: Command 'rm' requires approval" in seen
    assert "(shell.approve)\n  $ rm -rf a\n  $ ls\n  with X=1\n" in seen
    desk.type("y\n")
    resumed = desk.answer()
    assert (resumed["status"], resumed["events"][0]["success"]) == ("completed", True)


@pytest.mark.rule("O14")
def test_a_person_denies_and_says_why(desk: Desk) -> None:
    desk.send({"type": "shell", "command": "rm -rf a"})
    desk.answer()
    desk.asked()
    desk.type("perhaps\n")
    desk.asked()
    desk.type("n keep it\n")
    [denied] = desk.answer()["events"]
    assert (denied["type"], denied["reason"]) == ("policyDenied", "keep it")


@pytest.mark.rule("O14")
def test_a_person_sees_an_edit_as_a_difference(desk: Desk) -> None:
    (desk.root / ".env").write_text("one\ntwo\nthree\n")
    desk.send({"type": "editFile", "path": ".env", "edits": [{"oldContent": "two", "newContent": "2\u202e\x1b[2J"}]})
    assert desk.answer()["status"] == "awaiting_approval"
    seen = desk.asked()
    assert "  --- .env\n  +++ .env\n" in seen
    assert "  -two\n  +2\\x202e\\x1b[2J\n" in seen
    assert "\x1b[2J" not in seen


@pytest.mark.rule("O14")
@pytest.mark.fault(
    "workspace", "A person types before the question is displayed", "The command does not use the input as an answer"
)
def test_what_was_typed_before_the_question_is_no_answer(desk: Desk) -> None:
    desk.type("y\n")
    desk.send({"type": "shell", "command": "rm -rf a"})
    desk.answer()
    desk.asked()
    desk.type("n\n")
    assert desk.answer()["events"][0]["reason"] == "Denied by the user"


@pytest.mark.rule("O14")
@pytest.mark.fault("workspace", "The terminal closes while a question is open", "The operation keeps waiting")
def test_when_the_terminal_is_gone_the_operation_goes_on_waiting(desk: Desk) -> None:
    desk.send({"type": "shell", "command": "rm -rf a", "id": "x"})
    desk.answer()
    desk.asked()
    desk.hang_up()
    # A hang-up is a signal to end, too.
    assert desk.process.wait(SOON) == 129


@pytest.mark.rule("O14", "E5")
def test_without_a_terminal_there_is_nobody_to_ask(cli: Cli) -> None:
    done = cli.run("operations", "--workspace", ".", "--approve", "ask", start_new_session=True)
    assert (done.status, done.stdout) == (2, b"")
    assert "--approve: no terminal is available" in done.stderr
