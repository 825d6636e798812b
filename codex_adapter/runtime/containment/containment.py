"""Contain an agent and all processes that it starts, at the strongest level of this machine.

The levels, strongest first: `cgroup`, a guard in a PID namespace and the run's own cgroup; `pid_namespace`, a guard
that is process 1 of a namespace; `guard`, a guard that inherits all orphans; `process_group`, the processes that share
the group or the mark. A table in specs/containment.md lists what each level cannot contain (N1).
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, Literal, Protocol, TypeAlias, cast, get_args

import trio

from codex_adapter.errors import SpawnError
from codex_adapter.events import ExitStatus
from codex_adapter.request import RunConfig
from codex_adapter.runtime.containment.cgroup import Cgroup, make_cgroup
from codex_adapter.runtime.containment.guard_client import LevelUnavailable, start_guarded
from codex_adapter.runtime.containment.marks import new_mark, with_mark
from codex_adapter.runtime.containment.process_group import start_group

__all__ = ["LEVELS", "Contained", "Containment", "Level"]

Level: TypeAlias = Literal["cgroup", "pid_namespace", "guard", "process_group"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
_NAMESPACES: Final = ("pid_namespace", "user_namespace")
_log = logging.getLogger("codex_adapter")


class Contained(Protocol):
    """A started agent and all processes that it started."""

    async def wait(self) -> ExitStatus:
        """Wait for the agent's exit, for one waiter. Raise `BackendError` (`wait`) if its status was lost."""

    def signal(self, number: signal.Signals) -> None:
        """Send the agent a signal. Do nothing if it has exited."""

    def kill(self) -> None:
        """Send SIGKILL to all processes of the run."""

    async def aclose(self) -> None:
        """Kill until no process is left, for a bounded time, and release the agent. Call it once, under a shield."""


class Containment:
    """The start of agents at the strongest level of this machine, which it remembers.

    `demanded` is the weakest level to accept, `strongest` the first level to try, `allowed` the levels to choose from.
    """

    def __init__(
        self,
        demanded: Level | None = None,
        strongest: Level | None = None,
        *,
        allowed: Sequence[Level] = LEVELS,
    ) -> None:
        first = LEVELS.index(strongest) if strongest is not None else 0
        last = LEVELS.index(demanded) if demanded is not None else len(LEVELS) - 1
        self._ways = [way for way in _ways(allowed) if way[0] in LEVELS[first : last + 1]]
        self.level: Level | None = None
        """The level of the last started run; None before the first."""
        self.in_user_namespace = False
        """Whether the last started run has a user namespace of its own."""

    @classmethod
    def of(cls, config: RunConfig) -> Containment:
        """Return the containment for a checked configuration (N3)."""
        return cls(cast("Level | None", config.containment), cast("Level | None", config.containment_max))

    async def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        pipes: Sequence[int],
        mark: str,
        file: str | None = None,
    ) -> Contained:
        """Start an agent on the three descriptors `pipes`, with the mark `mark`.

        `file` is a file in its own directory. It is removed with the run, also if this process is killed. Raise OSError
        if the agent cannot be executed, `SpawnError` if no accepted level works.
        """
        env = with_mark(env, mark)
        while self._ways:
            way = level, hold = self._ways[0]
            cgroup: Cgroup | None = None
            if level == "cgroup":
                cgroup = make_cgroup(mark)
            if level == "process_group":
                self._use(way)
                return start_group(argv, env=env, cwd=cwd, pipes=pipes, mark=mark)
            if level != "cgroup" or cgroup is not None:
                try:
                    contained = await start_guarded(
                        argv, env=env, cwd=cwd, pipes=pipes, mark=mark, hold=hold, cgroup=cgroup, file=file
                    )
                except LevelUnavailable:
                    pass
                else:
                    self._use(way)
                    return contained
            if way in self._ways:  # a concurrent run may have removed it
                self._ways.remove(way)
        advice = (
            "This machine does not support the demanded containment level. "
            "Run `codex-adapter doctor` to list the supported levels."
        )
        raise SpawnError(not_found=False, advice=advice)

    async def try_out(self, env: Mapping[str, str]) -> Level:
        """Return the level at which an agent would be contained now, after a test with a small program. Raise as
        `start` does."""
        async with self.silent(["/bin/sh", "-c", ":"], env=env, cwd="/") as contained:
            level = cast("Level", self.level)
            await contained.wait()
        return level

    @asynccontextmanager
    async def silent(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str) -> AsyncIterator[Contained]:
        """Start a program without input and output, and end it on leaving. Raise as `start` does."""
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            contained = await self.start(argv, env=env, cwd=cwd, pipes=(nothing,) * 3, mark=new_mark())
            try:
                yield contained
            finally:
                with trio.CancelScope(shield=True):
                    await contained.aclose()
        finally:
            os.close(nothing)

    def _use(self, way: tuple[Level, str]) -> None:
        level, hold = way
        if level != self.level:
            _log.info("runs are contained at the level %s", level)
        self.level, self.in_user_namespace = level, hold == "user_namespace"


def _ways(allowed: Sequence[Level]) -> Iterator[tuple[Level, str]]:
    """Yield the levels, strongest first, each with the ways in which a guard can provide it."""
    for level in LEVELS:
        if level not in allowed:
            continue
        if level == "process_group":
            yield level, ""
        elif sys.platform == "linux" and sys.executable:
            if level in ("cgroup", "pid_namespace"):
                for hold in _NAMESPACES:
                    yield level, hold
            if level in ("cgroup", "guard"):
                yield level, "guard"
