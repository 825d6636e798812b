"""Find the processes of one run by a word in their environment."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Mark"]

VARIABLE = "LABORATORY_RUN"


class Mark:
    """A random word; whoever carries it in the environment is of the run."""

    def __init__(self) -> None:
        self._entry = f"{VARIABLE}={secrets.token_hex(8)}"

    @property
    def env(self) -> dict[str, str]:
        """What the run's environment must have."""
        name, _, value = self._entry.partition("=")
        return {name: value}

    def living(self) -> list[Path]:
        """The entries in /proc of the processes that carry it; a zombie has no environment any more."""
        return list(self._living())

    def signal(self, pid: int, name: str) -> None:
        """Send a signal, as `SIGINT`, to the process that has this id in its own namespace.

        Raise LookupError if the process does not exist any more.
        """
        for entry in self._living():
            ids = [line for line in (entry / "status").read_text().splitlines() if line.startswith("NSpid:")]
            if ids and ids[0].split()[-1] == str(pid):
                os.kill(int(entry.name), signal.Signals[name])
                return
        raise LookupError("the process of the CLI does not exist: it may have exited already")

    def _living(self) -> Iterator[Path]:
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self._entry.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    yield entry
            except OSError:  # it has gone meanwhile, or is another user's
                continue
