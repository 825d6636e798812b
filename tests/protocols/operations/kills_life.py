"""Run the command `codex-adapter operations` once, and possibly kill it at a random instant."""

from __future__ import annotations

import io
import signal
from contextlib import suppress
from pathlib import Path

from ...cli.command import ADAPTER, Cli
from ...runtime.survivors import Survivors
from ...waiting import SOON
from ..mortal import GONE_WITHIN, Instant, Mortal
from ..rounds import Broken
from .kills_model import check

__all__ = ["Killed", "Life", "Place"]


class Killed(Exception):
    """The instant has come."""


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
        self._killed = False
        self.torn = b""
        """Of a line that was under way, what had come."""
        env = {**place.cli.env, **place.everyone.env}
        self._process = place.cli.start(*place.words, program=ADAPTER, env=env, start_new_session=True)
        self._mortal = Mortal(self._process, instant, place.commands, place.everyone)

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
        self._mortal.begin_line()
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
        self._mortal.abandon()

    def _bury(self) -> None:
        """See that it has ended as it should, and that nothing of its commands is left."""
        self._mortal.spare()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.stdin = None
        _, errors = self._process.communicate(timeout=SOON)
        status = self._process.returncode
        check(errors == b"", errors)
        check(status == 0 or (self._mortal.killed and status == -signal.SIGKILL), f"ended with {status}")
        self._killed = status != 0
        left = self._place.commands.soon(GONE_WITHIN)
        check(left == [], f"left: {left}")
