"""Nothing survives a run: the levels by which an agent and all that it starts are held, and the choice of one (N1).

Best first: `cgroup`, a guard in a PID namespace and a cgroup of the run's own; `pid_namespace`, a guard that is process
1 of a namespace; `guard`, a guard that inherits all orphans; `process_group`, what the group and the mark reach. What
each cannot hold is a table in specs/containment.md.
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
    """A started agent and all that came of it."""

    async def wait(self) -> ExitStatus:
        """Wait for the agent's exit, for one waiter. Raises `BackendError` (`wait`) when its status was lost."""

    def signal(self, number: signal.Signals) -> None:
        """Send the agent a signal; nothing when it has exited."""

    def kill(self) -> None:
        """SIGKILL to everything of the run."""

    async def aclose(self) -> None:
        """Kill until nothing is left, bounded in time, and let go of the agent. Called once, under a shield."""


class Containment:
    """Starts agents at the strongest level that this machine has, and remembers which that is.

    `demanded` is the weakest level to be content with, `strongest` the first one to try. `allowed` are the levels to
    choose from.
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
        """The level of the last run that was started; None before the first."""
        self.in_user_namespace = False
        """Whether that run is in a user namespace of its own."""

    @classmethod
    def of(cls, config: RunConfig) -> Containment:
        """Return the containment that a configuration asks for; it has been checked (N3)."""
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
        """Start an agent on the three descriptors `pipes`, marked with `mark`.

        `file` is a file in a directory of its own that is to go with the run, also where this process is killed.
        Raises OSError when it cannot be executed, `SpawnError` where no level that is good enough can be had.
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
            if way in self._ways:  # another run, begun meanwhile, may have found out first
                self._ways.remove(way)
        raise SpawnError(
            not_found=False,
            advice="This machine has no containment of the level demanded; `codex-adapter doctor` lists those it has.",
        )

    async def try_out(self, env: Mapping[str, str]) -> Level:
        """The level at which an agent would be held now, learnt by starting a small program. Raises as `start`."""
        async with self.silent(["/bin/sh", "-c", ":"], env=env, cwd="/") as contained:
            level = cast("Level", self.level)
            await contained.wait()
        return level

    @asynccontextmanager
    async def silent(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str) -> AsyncIterator[Contained]:
        """Start a program that reads nothing and whose output is dropped; leave nothing of it. Raises as `start`."""
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
            _log.info("runs are held at the level %s", level)
        self.level, self.in_user_namespace = level, hold == "user_namespace"


def _ways(allowed: Sequence[Level]) -> Iterator[tuple[Level, str]]:
    """Levels with the ways in which the guard can hold them, best first."""
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
