"""Run the command `codex-adapter mailbox` once, and possibly kill it at a random instant."""

from __future__ import annotations

import fcntl
import io
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...cli.command import ADAPTER, Cli
from ...runtime.survivors import Survivors
from ...waiting import SOON
from ..mortal import GONE_WITHIN, Instant, Mortal
from ..operations.kills_model import check
from .kills_answers import LEDGER, InboxFile

__all__ = ["Life", "Place"]


class Place:
    """Where a round happens: a workspace, a mailbox and a ledger beside it, and who lives there."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "workspace"
        self.root.mkdir()
        self.mailbox = directory / "mailbox"
        self.ledger = directory / LEDGER
        self.coming = directory / "coming"
        self.coming.mkdir()
        self.cli = Cli(directory)
        self.commands = Survivors(self.root)
        self.everyone = Survivors(directory)

    def session(self) -> dict[str, Any] | None:
        """The session's file, if there is a session."""
        found = [path for path in self.mailbox.glob("sessions/*") if path.suffix == ".json"]
        check(len(found) < 2, found)
        return json.loads(found[0].read_bytes()) if found else None

    def put(self, answer: InboxFile) -> None:
        """Bring an answer, at one stroke."""
        path = self.coming / answer.name
        path.write_bytes(answer.data)
        changed = time.time() - answer.age
        os.utime(path, (changed, changed))
        path.rename(self.mailbox / "inbox" / answer.name)

    def is_free(self) -> bool:
        """Whether nobody works in the mailbox."""
        with (self.mailbox / "lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            return True


class Life:
    """A process, from its start to its end. Without an instant nobody kills it."""

    def __init__(self, place: Place, instant: Instant | None, action: str, *words: str) -> None:
        self._place = place
        self.killed = False
        self.status: int | None = None
        env = {**place.cli.env, **place.everyone.env}
        options = ("--mailbox", str(place.mailbox), "--format", "jsonl", "--no-sandbox")
        self._process = place.cli.start(
            "mailbox", action, *options, *words, program=ADAPTER, env=env, start_new_session=True
        )
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.stdin = None
        self._mortal = Mortal(self._process, instant, place.commands, place.everyone)

    def records(self) -> Iterator[dict[str, Any]]:
        """The lines of its output, until it ends. Raises Broken where it leaves something, or ends as it should not."""
        assert isinstance(self._process.stdout, io.BufferedReader)
        for line in self._process.stdout:
            self._mortal.begin_line()
            if line.endswith(b"\n"):
                yield json.loads(line)
            else:
                check(self._killed_now(), line)
        self._bury()

    def abandon(self) -> None:
        """Leave nothing."""
        self._mortal.abandon()

    def _killed_now(self) -> bool:
        return self._process.wait(SOON) == -signal.SIGKILL

    def _bury(self) -> None:
        """See that it has ended as it should, and that nothing of its commands is left."""
        self._mortal.spare()
        _, errors = self._process.communicate(timeout=SOON)
        self.status = self._process.returncode
        self.killed = self.status == -signal.SIGKILL and self._mortal.killed
        check(self.killed or self.status in (0, 75), f"ended with {self.status}: {errors!r}")
        left = self._place.commands.soon(GONE_WITHIN)
        check(left == [], f"left: {left}")
