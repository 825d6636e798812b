"""Start the command line as a process, watched by the oracle."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..cli.command import ADAPTER
from ..waiting import SOON
from .stage import Stage

__all__ = ["Told", "perform", "running", "told"]

Json = dict[str, Any]


class Told(NamedTuple):
    """What a finished command left on its outputs, and its exit status; a signal is negative."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def records(self) -> list[Json]:
        """The lines of stdout, each a record; raises ValueError when one is none."""
        assert self.stdout == b"" or self.stdout.endswith(b"\n")
        return [json.loads(line) for line in self.stdout.split(b"\n")[:-1]]

    @property
    def events(self) -> list[Json]:
        """All records but the last, which is checked to be the only completion."""
        *events, completion = self.records
        assert [record["type"] for record in events] == ["event"] * len(events)
        assert [record["seq"] for record in events] == list(range(len(events)))
        assert (completion["type"], completion["seq"]) == ("completion", len(events))
        return events

    @property
    def completion(self) -> Json:
        """The last record."""
        return self.records[-1]


@contextmanager
def running(
    stage: Stage, command: str, *arguments: str, program: Sequence[str] = ADAPTER, **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A command under way; when the block has ended, so has the command, and nothing of it is left."""
    settings = stage.env | {"CODEX_HOME": str(stage.home)}
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    argv = [*program, command, *arguments]
    where: dict[str, Any] = {"env": {**os.environ, **settings}, "cwd": stage.workspace}
    process: subprocess.Popen[bytes] = subprocess.Popen(argv, text=False, **where, **options)
    with process:
        try:
            yield process
            process.wait(SOON)
        finally:
            stage.oracle.look()
            process.kill()
    stage.oracle.check()


def told(process: subprocess.Popen[bytes], stdin: bytes | None = None) -> Told:
    """The rest of a command."""
    stdout, stderr = process.communicate(stdin, SOON)
    return Told(process.returncode, stdout or b"", stderr or b"")


def perform(stage: Stage, command: str, *arguments: str, **options: Any) -> Told:
    """A command from its start to its end; `run` with the release under test."""
    chosen = ("--codex", str(stage.release.binary)) if command in ("run", "demo", "doctor") else ()
    with running(stage, command, *chosen, *arguments, **options) as process:
        return told(process)
