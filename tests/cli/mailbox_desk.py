"""Use a mailbox from the command line, and deliver answers that look old enough to be read at once."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import Any

from ..waiting import SOON
from .command import ADAPTER, Cli, Done

__all__ = ["Desk", "Terminal", "done_with", "file_of", "kinds", "message", "running", "until_record"]

_LONG_AGO = 1_000_000.0


def file_of(path: str, *lines: str) -> str:
    """The command that makes a file."""
    return "\n".join([f'[CREATE_FILE path="{path}"]', *lines, "[/CREATE_FILE]", ""])


def running(command: str) -> str:
    """The command that runs another one."""
    return f"[RUN_COMMAND]\n{command}\n[/RUN_COMMAND]\n"


def message(text: str) -> str:
    """The command that tells the user."""
    return f"[MESSAGE]\n{text}\n[/MESSAGE]\n"


def done_with(summary: str) -> str:
    """The command that ends the session."""
    return f"[DONE]\n{summary}\n[/DONE]\n"


def kinds(done: Done) -> list[str]:
    """What happened, without what is remarked."""
    return [record["type"] for record in done.records if record["type"] != "remark"]


class Desk:
    """A workspace, a mailbox that is not there yet, and the command."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.root = cli.directory / "workspace"
        self.root.mkdir()
        self.mailbox = cli.directory / "mailbox"
        self._carried = 0

    def words(self, action: str, *more: str) -> list[str]:
        """A command line."""
        workspace = ["--workspace", str(self.root)] if action == "start" else []
        return ["mailbox", action, "--mailbox", str(self.mailbox), *workspace, *more]

    def run(self, action: str, *more: str, stdin: bytes = b"") -> Done:
        """The command from its start to its end."""
        return self.cli.run(*self.words(action, *more), stdin=stdin)

    def begun(self, *more: str) -> str:
        """Begin a session without waiting, and give its id."""
        done = self.run("start", "--no-wait", *more, "Make it work.")
        assert (done.status, done.stderr) == (0, "")
        return self.session

    def start(self, action: str, *more: str, **options: Any) -> subprocess.Popen[bytes]:
        """The command under way; what is read of its output line by line is not read ahead."""
        return self.cli.start(*self.words(action, *more), bufsize=0, **options)

    @property
    def state(self) -> dict[str, Any]:
        """The only session, as its file has it."""
        [file] = self.mailbox.glob("sessions/*.json")
        return dict(json.loads(file.read_bytes()))

    @property
    def session(self) -> str:
        """Its id."""
        return str(self.state["sessionId"])

    def outbox(self, number: int) -> str:
        """What went out in a round."""
        return (self.mailbox / "outbox" / f"{self.session}_seq{number:04d}.txt").read_text()

    def answer(self, *commands: str) -> Path:
        """Carry an answer into the inbox."""
        self._carried += 1
        carried = self.cli.directory / "carried"
        carried.write_text("".join(commands))
        os.utime(carried, (_LONG_AGO + self._carried,) * 2)
        return carried.rename(self.mailbox / "inbox" / f"answer {self._carried}.txt")

    def program(self, name: str, script: str) -> str:
        """A shell script in a directory of PATH."""
        place = self.cli.directory / "programs"
        place.mkdir(exist_ok=True)
        file = place / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        if str(place) not in self.cli.env["PATH"]:
            self.cli.env["PATH"] = f"{place}:{self.cli.env['PATH']}"
        return str(file)


def until_record(process: subprocess.Popen[bytes], kind: str) -> dict[str, Any]:
    """Read what happens up to the first happening of a kind."""
    assert process.stdout is not None
    for line in process.stdout:
        record = json.loads(line)
        if record["type"] == kind:
            return dict(record)
    raise AssertionError(f"no {kind}")


class Terminal:
    """The command at a terminal of its own, which is `fd` here."""

    def __init__(self, desk: Desk, action: str, *more: str, program: tuple[str, ...] = ADAPTER) -> None:
        desk.cli.env.setdefault("TERM", "xterm-256color")
        self.fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = desk.start(action, *more, program=program, stdout=theirs)
        os.close(theirs)
        self.shown = ""
        self._bytes = b""

    def until(self, text: str) -> None:
        """Read until it shows this."""
        self._read(lambda: text in self.shown)

    def finish(self, cli: Cli) -> Done:
        """Read to its end."""
        self._read(lambda: False)
        done = cli.finish(self.process)
        os.close(self.fd)
        return done

    def _read(self, satisfied: Any) -> None:
        deadline = time.monotonic() + SOON
        while not satisfied():
            assert select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))[0], self.shown
            try:
                block = os.read(self.fd, 65_536)
            except OSError:  # nobody has its other end any more
                block = b""
            self._bytes += block
            self.shown = self._bytes.decode(errors="replace")
            if not block:
                assert not satisfied.__defaults__ or satisfied()
                return
