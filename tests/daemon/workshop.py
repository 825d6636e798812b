"""Provide a directory for one daemon: its agents by name, its environment, and a check of leftovers.

All runs of a daemon have one binary. Here it is a program that becomes the agent that the request names in `AGENT`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codex_adapter.testing import ReadPrompt, Step, write_agent

from .. import forked
from ..cli.command import ADAPTER, Cli
from ..cli.slow_clock import SLOW_CLOCK
from ..runtime.survivors import Survivors, temporary_files
from ..waiting import SOON
from .supervisor import Supervisor

__all__ = ["Workshop"]

CHOICE = 'exec "${AGENT:-%s}" "$@"'


class Workshop:
    """Starts daemons in a directory; `finish` ends them, and sees to it that nothing is left."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.survivors = Survivors(directory)
        temporary = directory / "temporary"
        temporary.mkdir()
        self.env = {**Cli(directory).env, "TMPDIR": str(temporary), **self.survivors.env}
        self.binary = str(directory / "codex")
        self.command = [*ADAPTER, "serve", "--codex", self.binary]
        self._temporary = temporary
        self._daemons: list[Supervisor] = []
        default = write_agent(directory / "agents", [ReadPrompt()], name="default")
        self.program("codex", f"#!/bin/sh\n{CHOICE % default}\n")

    def program(self, name: str, text: str) -> str:
        """An executable of this text."""
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def agent(self, name: str, *steps: Step) -> dict[str, str]:
        """The environment of a request whose agent takes these steps."""
        return {"AGENT": write_agent(self.directory / "agents", steps, name=name)}

    def place(self, name: str) -> Path:
        """A working directory."""
        path = self.directory / name
        path.mkdir(exist_ok=True)
        return path

    def slow_clock(self, *, skip: bool = False) -> None:
        """Let no limit pass by itself in the daemons from now on; `skip` the time in which a run waits for us."""
        self.command = [*SLOW_CLOCK, *self.command[len(ADAPTER) :]]
        if skip:
            self.env["SKIP"] = str(self.directory / "skipped")

    def notified(self, *, abstract: bool = False) -> socket.socket:
        """What systemd listens at; the daemons from now on are told of it."""
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = f"@codex-adapter-test-{os.getpid()}" if abstract else f"{self.directory}/notify"
        receiver.bind(address.replace("@", "\0", 1) if abstract else address)
        receiver.settimeout(SOON)
        self.env["NOTIFY_SOCKET"] = address
        return receiver

    def daemon(self, *options: str, initialize: bool = True, **streams: Any) -> Supervisor:
        """A daemon with its streams as pipes, initialized."""
        stdin, our_stdin = os.pipe()
        our_stdout, stdout = os.pipe()
        supervisor = self.supervise(options, our_stdin, our_stdout, **{"stdin": stdin, "stdout": stdout, **streams})
        os.close(stdin)
        os.close(stdout)
        if initialize:
            supervisor.initialize()
        return supervisor

    def supervise(self, options: Sequence[str], our_stdin: int, our_stdout: int, **popen: Any) -> Supervisor:
        """A daemon with these streams; ours may be one socket."""
        errors = self.directory / f"stderr{len(self._daemons)}"
        words = [*self.command, *options]
        with errors.open("wb") as stderr:
            process = forked.start(words, **{"cwd": self.directory, "env": self.env, "stderr": stderr, **popen})
        supervisor = Supervisor(process, our_stdin, our_stdout, errors)
        self._daemons.append(supervisor)
        return supervisor

    def finish(self) -> None:
        """End all daemons in order, and look at what they have said and left."""
        try:
            for daemon in self._daemons:
                daemon.finish()
            assert self.survivors.soon() == []
            assert temporary_files(self._temporary) == []
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Leave nothing, whatever happened."""
        for daemon in self._daemons:
            daemon.abandon()
        self.survivors.kill()
