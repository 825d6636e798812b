"""One life of the command `codex-adapter operations`, which a random instant may end."""

from __future__ import annotations

import io
import os
import signal
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import NamedTuple

from ...cli.command import ADAPTER, SOON, Cli
from ...kill_matrix.limits import TOGETHER, available, not_held
from ...runtime.survivors import Survivors
from ..rounds import Broken
from .kills_model import check

__all__ = ["Instant", "Killed", "Life", "Place"]

GONE_WITHIN = 1.0
"""Seconds after which nothing is left of a runtime that was killed (N2)."""


class Killed(Exception):
    """The instant has come."""


class Instant(NamedTuple):
    """So many seconds after the first byte of its so-and-so-many-th line, of line 0 after its start; with it may end
    its process group, or the guards of its commands."""

    line: int
    seconds: float
    also: str


class Place:
    """Where a round happens: a workspace, a state beside it, and who lives there."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "workspace"
        self.root.mkdir()
        self.state = directory / "state.db"
        self.cli = Cli(directory)
        self.commands = Survivors(self.root)
        self.everyone = Survivors(directory)
        self.words = ("operations", "--workspace", str(self.root), "--state", str(self.state))


class Life:
    """The process, spoken to line by line. Without an instant nobody kills it."""

    def __init__(self, place: Place, instant: Instant | None) -> None:
        self._place = place
        self._instant = instant
        self._timer: Timer | None = None
        self._killed = False
        self.torn = b""
        """Of a line that was under way, what had come."""
        env = {**place.cli.env, **place.everyone.env}
        self._process = place.cli.start(*place.words, program=ADAPTER, env=env, start_new_session=True)
        self._lines = 0
        self._arm()

    def ask(self, line: bytes) -> bytes:
        """Send a line and take the next one. Raises Killed."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(line)
            self._process.stdin.flush()
        return self.answer()

    def answer(self) -> bytes:
        """The next line. Raises Killed."""
        assert isinstance(self._process.stdout, io.BufferedReader)
        self._process.stdout.peek(1)
        self._lines += 1
        self._arm()
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            self.torn = line
            self._bury()
            raise Killed
        return line

    def end(self) -> None:
        """Say that nothing more comes. Raises Killed."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdin = None
        try:
            line = self.answer()
        except Killed:
            if self._killed:
                raise
        else:
            raise Broken(f"said unasked: {line!r}")

    def abandon(self) -> None:
        """Leave nothing."""
        self._disarm()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._place.commands.kill()
        self._place.everyone.kill()

    def _arm(self) -> None:
        if self._instant is None or self._instant.line != self._lines:
            return
        if self._instant.seconds == 0:
            self._kill(self._instant.also)
            return
        self._timer = Timer(self._instant.seconds, self._kill, (self._instant.also,))
        self._timer.start()

    def _disarm(self) -> None:
        """Kill nothing from now on; what has begun of that is over then."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()

    def _kill(self, also: str) -> None:
        self._killed = True
        guards = []
        if also == "guards" and not not_held(TOGETHER, available()[0], available()):
            guards = [it.pid for it in self._place.everyone.now() if "guard.py" in it.argv]
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGKILL)
            for pid in guards:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if also == "group":
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def _bury(self) -> None:
        """See that it has ended as it should, and that nothing of its commands is left."""
        self._disarm()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.stdin = None
        _, errors = self._process.communicate(timeout=SOON)
        status = self._process.returncode
        check(errors == b"", errors)
        check(status == 0 or (self._killed and status == -signal.SIGKILL), f"ended with {status}")
        self._killed = status != 0
        left = self._place.commands.soon(GONE_WITHIN)
        check(left == [], f"left: {left}")
