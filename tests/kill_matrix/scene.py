"""Start one run with all its descendants, and find their processes by parent and argv."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from codex_adapter.testing import ModelServer
from tests.real.oracle import Process
from tests.real.stage import Stage

from .descendants import KINDS, kind_of

__all__ = ["Cast", "Missing", "Scene"]

PATIENCE = 60.0
"""Seconds until something that must happen is given up."""
PAUSE = 0.04
"""Seconds between two looks."""


class Missing(Exception):
    """The run did not come so far as to be ended: nothing was proved."""


class Cast(NamedTuple):
    """The processes that act in a run. `guards` is empty without a guard, the innermost comes last."""

    adapter: int
    guards: tuple[int, ...]
    node: int | None
    agent: int | None


class Scene:
    """A started adapter. A look is taken all the time, so that nothing that lives for a while is missed."""

    def __init__(self, stage: Stage, server: ModelServer, argv: list[str]) -> None:
        self._stage = stage
        self._server = server
        # Open at both ends: whoever opens the other does not wait, and nothing that is written gets lost.
        self._pipes = {name: os.open(stage.fifo(name), os.O_RDWR | os.O_NONBLOCK) for name in ("up", "go")}
        self._errors = (stage.root / "stderr").open("w+b")
        self._process = subprocess.Popen(
            argv,
            env=stage.environment,
            cwd=stage.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._exit = os.pidfd_open(self._process.pid)
        # Nobody reads it: what a run of ours says fits into the pipe, where a scenario does not want the opposite.
        assert self._process.stdout is not None
        self._output = self._process.stdout
        self._is_up = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._stage.oracle.kill()
        self._output.close()
        self._errors.close()
        for descriptor in (self._exit, *self._pipes.values()):
            os.close(descriptor)

    def wait_for_agent(self) -> None:
        """Until the agent's program runs. Raises `Missing`."""
        self._until(lambda found: any(map(self._stage.is_agent, found)), "the agent")

    def wait(self, seconds: float, *, all_up: bool) -> None:
        """So long, at most until all descendants are up; with `all_up` until they are, and then so long."""
        if all_up:
            self._until(self._all_up, "all descendants")
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and (all_up or not self.told_up()):
            self._stage.oracle.look()
            time.sleep(min(PAUSE, max(0.0, deadline - time.monotonic())))

    def told_up(self) -> bool:
        """Whether the shell tool has come to its end."""
        if not self._is_up:
            try:
                self._is_up = os.read(self._pipes["up"], 16) != b""
            except BlockingIOError:
                return False
        return self._is_up

    def cast(self) -> Cast:
        """Who acts. Raises `Missing` when the agent has gone already."""
        found = {process.pid: process for process in self._stage.oracle.look()}
        agent = next((process for process in found.values() if self._stage.is_agent(process)), None)
        if agent is None:
            raise Missing(f"the agent is gone: {self.said()}")
        chain: list[Process] = []
        above = agent
        while above.parent != self._process.pid:
            if above.parent not in found:
                raise Missing("the agent is not below the adapter")
            above = found[above.parent]
            chain.insert(0, above)
        node = next((process.pid for process in chain if process.argv[0] == "node"), None)
        # Only forks of the first one guard; what lies below is what it was told to start.
        guards = tuple(process.pid for process in chain if process.pid != node and process.argv == chain[0].argv)
        return Cast(self._process.pid, guards, node, agent.pid)

    def act_early(self, steps: str) -> None:
        """As `act`, when nobody but the adapter need be there yet."""
        self.act(steps, Cast(self._process.pid, (), None, None))

    def act(self, steps: str, cast: Cast) -> None:
        """Carry out these steps, one after the other."""
        pids = {"adapter": cast.adapter, "agent": cast.agent, "node": cast.node}
        if cast.guards:
            pids |= {"guard": cast.guards[0], "inner": cast.guards[-1]}
        for step in filter(None, steps.split(", ")):
            who, _, name = step.partition(" ")
            if who == "finish":
                self._finish()
            elif who == "leave":
                self._output.close()
            else:
                pid = pids.get(who)
                if pid is None:
                    raise Missing(f"there is no {who}")
                self._signal(pid, signal.Signals[f"SIG{name}"])

    def end(self, finish_after: float | None = None) -> int:
        """The adapter's exit status; the run may end by itself after so long. Raises `Missing` when it does not end."""
        started = time.monotonic()
        exited = select.poll()
        exited.register(self._exit, select.POLLIN)
        while not exited.poll(PAUSE * 1000):
            if finish_after is not None and time.monotonic() > started + finish_after:
                finish_after = None
                self._finish()
            if time.monotonic() > started + PATIENCE:
                raise Missing(f"the adapter does not end: {self._portrait()}")
            self._stage.oracle.look()
        return self._process.wait()

    def _signal(self, pid: int, number: signal.Signals) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:  # as the ways go, an earlier step may have ended it
            return

    def _finish(self) -> None:
        """The foreground command is told to end, and the model says its last word."""
        os.write(self._pipes["go"], b"go\n")
        self._server.open_gate("go on")

    def _portrait(self) -> str:
        """What lives, and which signals the adapter waits for or does not take."""
        status = Path("/proc", str(self._process.pid), "status").read_text()
        lines = [line.replace("\t", "") for line in status.splitlines()]
        state = " ".join(line for line in lines if line.startswith(("State", "Sig", "Shd")))
        living = [f"{kind_of(process)}[{process.pid} below {process.parent}]" for process in self._stage.oracle.look()]
        return f"{', '.join(living)}; adapter {self._process.pid}: {state}; {self.said()}"

    def _until(self, come: Callable[[list[Process]], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not come(self._stage.oracle.look()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise Missing(f"{what} did not come up: {self.said()}")
            time.sleep(PAUSE)

    def _all_up(self, found: list[Process]) -> bool:
        return self.told_up() and {kind_of(process) for process in found} >= set(KINDS)

    def said(self) -> str:
        """The adapter's exit status, None while it lives, and the end of what it complained of."""
        self._errors.seek(0)
        return f"status {self._process.poll()}, {self._errors.read()[-300:].decode(errors='replace')!r}"
