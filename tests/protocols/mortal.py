"""Run a process that may be killed at a random instant, with its group or its commands' guards."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from threading import Timer
from typing import NamedTuple

from ..kill_matrix.limits import TOGETHER, available, not_held
from ..runtime.survivors import Survivors

__all__ = ["GONE_WITHIN", "Instant", "Mortal"]

GONE_WITHIN = 1.0
"""Seconds after which nothing is left of whoever was killed (N2)."""


class Instant(NamedTuple):
    """So many seconds after the first byte of its so-and-so-many-th line, of line 0 after its start; with it may end
    its process group, or the guards of its commands."""

    line: int
    seconds: float
    also: str


class Mortal:
    """The process, which leads a group. Without an instant nobody kills it.

    `commands` are those of its workspace, `everyone` all that it ever starts.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], instant: Instant | None, commands: Survivors, everyone: Survivors
    ) -> None:
        self._process = process
        self._instant = instant
        self._commands = commands
        self._everyone = everyone
        self._timer: Timer | None = None
        self._lines = 0
        self.killed = False
        """Whether the instant has come."""
        self._arm()

    def begin_line(self) -> None:
        """A line of its output has begun."""
        self._lines += 1
        self._arm()

    def spare(self) -> None:
        """Kill nothing from now on; what has begun of that is over then."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()

    def abandon(self) -> None:
        """Leave nothing."""
        self.spare()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._commands.kill()
        self._everyone.kill()

    def _arm(self) -> None:
        if self._instant is None or self._instant.line != self._lines:
            return
        if self._instant.seconds == 0:
            self._kill(self._instant.also)
            return
        self._timer = Timer(self._instant.seconds, self._kill, (self._instant.also,))
        self._timer.start()

    def _kill(self, also: str) -> None:
        self.killed = True
        guards = []
        if also == "guards" and not not_held(TOGETHER, available()[0], available()):
            guards = [it.pid for it in self._everyone.now() if "guard.py" in it.argv]
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGKILL)
            for pid in guards:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if also == "group":
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
