"""Start the command line as a process with its own directory and environment, as a supervisor does."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from codex_adapter.testing import Step, write_agent
from tests.releases.codex.stage import ONLY_THE_WORKSPACE

from .. import forked
from ..waiting import SOON, until

__all__ = ["ADAPTER", "CANCELLED", "NEW_INTERPRETER", "Cli", "Done"]
__all__ += ["only_the_workspace", "until_full", "until_listening", "write_confinement"]

ADAPTER = (sys.executable, "-m", "codex_adapter")
NEW_INTERPRETER = ("env", *ADAPTER)
"""For tests whose subject is the start, or what /proc shows of a process."""
CANCELLED = {
    "outcome": "failed",
    "ok": False,
    "error": {"kind": "backend", "message": "cancelled", "failure": "cancelled"},
}


class Done(NamedTuple):
    """What a command left behind."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The lines of standard output; each must be whole."""
        assert self.stdout == b"" or self.stdout.endswith(b"\n")
        return [json.loads(line) for line in self.stdout.split(b"\n")[:-1]]

    @property
    def completion(self) -> dict[str, Any]:
        """The last record without its place in the stream, which must be right: the only completion, its `seq` next."""
        records = self.records
        assert [record["type"] for record in records] == ["event"] * (len(records) - 1) + ["completion"]
        assert [record["seq"] for record in records] == list(range(len(records)))
        return {name: value for name, value in records[-1].items() if name not in ("type", "seq")}

    @property
    def complaint(self) -> str:
        """The one line on standard error."""
        assert re.fullmatch(r"codex-adapter: [^\n]+\n", self.stderr), self.stderr
        return self.stderr.removeprefix("codex-adapter: ").removesuffix("\n")


class Cli:
    """Starts commands in `directory`; `env` is all of their environment, and has no login in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.env = {"PATH": os.environ["PATH"], "HOME": str(directory), "LANG": "C.UTF-8", "PYTHONPATH": ""}
        if "COVERAGE_PROCESS_START" in os.environ:
            self.env["COVERAGE_PROCESS_START"] = os.environ["COVERAGE_PROCESS_START"]

    def agent(self, *steps: Step, version: str = "0.163.0") -> str:
        """The path of a scripted agent."""
        return write_agent(self.directory / "bin", steps, version=version)

    def run(self, *words: str, stdin: bytes = b"", **options: Any) -> Done:
        """A command from its start to its end."""
        with self.start(*words, **{"stdin": subprocess.PIPE, **options}) as process:
            return self.finish(process, stdin)

    def start(self, *words: str, program: tuple[str, ...] = ADAPTER, **options: Any) -> subprocess.Popen[bytes]:
        """A command under way, all its streams pipes where `options`, those of `Popen`, say nothing else.

        It is a fork of a warm process wherever that is the same as a new process.
        """
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        if words[0] in ("run", "turn") and "-" not in words:  # what is piped to these is a part of the prompt
            streams["stdin"] = subprocess.DEVNULL
        return forked.start([*program, *words], **{"cwd": self.directory, "env": self.env, **streams, **options})

    def finish(self, process: subprocess.Popen[bytes], stdin: bytes | None = None) -> Done:
        """The rest of a command."""
        try:
            stdout, stderr = process.communicate(stdin, SOON)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Done(process.returncode, stdout or b"", (stderr or b"").decode())


def write_confinement(codex_home: Path) -> None:
    """Let agents of turns write in their own directory alone: tests have their `aspHome` in `/tmp`."""
    codex_home.mkdir(exist_ok=True)
    (codex_home / "config.toml").write_text(ONLY_THE_WORKSPACE)


def only_the_workspace(cli: Cli) -> None:
    """Do that for a command whose agents work in its own directory."""
    cli.env["CODEX_HOME"] = f"{cli.directory}-codex"
    write_confinement(Path(cli.env["CODEX_HOME"]))


def until_listening(process: subprocess.Popen[bytes]) -> None:
    """Wait until a command takes signals; for SIGINT Python itself has a handler long before."""

    def listening() -> bool:
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught, blocked = (int(status.partition(name)[2].split()[0], 16) for name in ("SigCgt:", "SigBlk:"))
        return bool(caught & ~blocked & 1 << signal.SIGTERM - 1)

    until(listening)


def until_full(reader: int) -> None:
    """Wait until the pipe that is read here takes nothing more."""
    writer = os.open(f"/proc/self/fd/{reader}", os.O_WRONLY | os.O_NONBLOCK)
    try:
        until(lambda: not select.select([], [writer], [], 0)[1])
    finally:
        os.close(writer)
