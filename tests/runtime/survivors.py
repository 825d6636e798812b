"""Find the processes that a run left behind, with data of the system and without code of the product.

The processes of a run have the test's own variable in their environment or work in the test's directory, in any process
namespace, session or parent. A process that has exited has neither.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..waiting import SOON, became

__all__ = ["Living", "Survivors", "temporary_files"]


def temporary_files(directory: Path) -> list[Path]:
    """The files in a temporary directory, without the notes by which the next run removes what a killed one left."""
    return [path for path in directory.iterdir() if not path.name.startswith("codex-adapter-mounts-")]


class Living(NamedTuple):
    """A living process: its id here and in its innermost namespace, its parent's id here, and its arguments."""

    pid: int
    inner: int
    parent: int
    argv: str


class Survivors:
    """The living processes of the runs that work in `directory` or have `env` in their environment."""

    def __init__(self, directory: Path) -> None:
        self.env = {f"PROBE_{secrets.token_hex(8)}": "1"}
        self._directory = directory
        self._token = next(iter(self.env)).encode()

    def now(self) -> list[Living]:
        """Those alive now."""
        return list(self._living())

    def soon(self, seconds: float = SOON) -> list[Living]:
        """Those still alive after this time; returns at once when none is alive."""
        became(lambda: not self.now(), within=seconds)
        return self.now()

    def children(self, parent: int | None = None) -> list[Living]:
        """Those whose parent is `parent`, by default this process."""
        return [process for process in self.now() if process.parent == (parent or os.getpid())]

    def kill(self) -> None:
        """Leave nothing, whatever the test found."""
        while found := self.now():
            for process in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)

    def _living(self) -> Iterator[Living]:
        home = self._directory.stat()
        for process in Path("/proc").iterdir():
            if not process.name.isdigit() or int(process.name) == os.getpid():
                continue
            # Gone in between, or somebody else's: neither is of the run.
            with contextlib.suppress(OSError, IndexError, StopIteration):
                if self._is_of_us(process, home):
                    yield _read(process)

    def _is_of_us(self, process: Path, home: os.stat_result) -> bool:
        try:
            return self._token in (process / "environ").read_bytes() or os.path.samestat((process / "cwd").stat(), home)
        except PermissionError:
            # Only root may look into an adapter, and into a guard in a user namespace. Their arguments name the agent.
            # An adapter that the test itself has started is the test's to wait for.
            found = _read(process)
            return str(self._directory) in found.argv and ("guard.py" in found.argv or found.parent != os.getpid())


def _read(process: Path) -> Living:
    inner = next(line for line in (process / "status").read_text().splitlines() if line.startswith("NSpid:"))
    parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
    argv = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return Living(int(process.name), int(inner.split()[-1]), int(parent), argv)
