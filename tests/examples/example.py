"""Observe a running example: its output and its daemon."""

from __future__ import annotations

import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from codex_adapter.testing import Step, write_agent

from ..cli.command import Cli, Done
from ..runtime.survivors import Survivors
from ..waiting import SOON

__all__ = ["Example", "Examples", "UnderWay", "said_of_runs"]


class Examples(NamedTuple):
    """Where an example works."""

    cli: Cli
    survivors: Survivors


class UnderWay:
    """An example that was started."""

    def __init__(self, process: subprocess.Popen[bytes], examples: Examples) -> None:
        self.process = process
        self._examples = examples
        self._said = b""

    def until(self, *wanted: str) -> None:
        """Read what it says until each of these has been in a line."""
        assert self.process.stdout is not None
        missing = {text.encode() for text in wanted}
        while missing:
            line = self.process.stdout.readline()
            assert line, f"it said no more: {self._said[-1000:]!r}"
            self._said += line
            missing = {text for text in missing if text not in line}

    def daemon(self) -> int:
        """The process id of its daemon."""
        (pid,) = [it.pid for it in self._examples.survivors.children(self.process.pid) if " serve " in it.argv + " "]
        return pid

    def finish(self) -> Done:
        """What it has said, to its end."""
        done = self._examples.cli.finish(self.process)
        return done._replace(stdout=self._said + done.stdout)


class Example:
    """One example, in one language."""

    def __init__(self, examples: Examples, words: tuple[str, ...]) -> None:
        self.examples = examples
        self.directory = examples.cli.directory
        self.words = words

    def agent(self, *steps: Step, name: str = "codex") -> str:
        """The path of a scripted agent."""
        return write_agent(self.directory / "bin", steps, name=name)

    def program(self, text: str) -> str:
        """The path of a program for the shell, in place of an agent."""
        path = self.directory / "codex"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    @contextmanager
    def start(self, *words: str, agent: str, options: Sequence[str] = (), **popen: Any) -> Iterator[UnderWay]:
        """Start it with these words and options of `serve`, in a process group of its own as a terminal does."""
        process = self.examples.cli.start(
            *words,
            *("--", "--codex", agent, *options),
            program=self.words,
            **{"stdin": subprocess.DEVNULL, "bufsize": 0, "start_new_session": True, **popen},
        )
        watch = threading.Timer(SOON, process.kill)
        watch.start()
        try:
            with process:
                yield UnderWay(process, self.examples)
        finally:
            watch.cancel()

    def run(self, *words: str, agent: str, options: Sequence[str] = ()) -> Done:
        """It from its start to its end."""
        with self.start(*words, agent=agent, options=options) as under_way:
            return under_way.finish()


def said_of_runs(done: Done) -> dict[str, list[str]]:
    """What an example has said of each run, by the last part of the run's id."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for line in done.stdout.decode().splitlines():
        run_id, _, said = line.partition(" ")
        found[run_id.rpartition("-")[2]].append(said)
    return dict(found)
