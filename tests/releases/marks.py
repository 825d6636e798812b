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

    def signal(self, binary: Path, name: str) -> None:
        """Send `name`, as `SIGINT`, to the process that executes `binary`; raises LookupError when there is none."""
        for entry in self._living():
            if {bytes(binary), b"exec", b"--json"} <= {*(entry / "cmdline").read_bytes().split(b"\0")}:
                os.kill(int(entry.name), signal.Signals[name])
                return
        raise LookupError("no process of the run is the CLI: it may have exited already")

    def _living(self) -> Iterator[Path]:
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self._entry.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    yield entry
            except OSError:  # it has gone meanwhile, or is another user's
                continue
