"""Find the processes that a run left behind, by a random word, parents, sessions and PID namespaces.

The oracle does not use the product. The word is in the run's environment and, for processes that clear it, in an argv.
The oracle remembers every process of the run that it has seen, so that it still finds a process that dropped its word
and lost its parents. If it has seen a process of the run in a PID namespace other than its own, all processes in that
namespace belong to the run.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["VARIABLE", "Oracle", "Process"]

VARIABLE = "ORACLE_WORD"
EXITING = 0x4
"""The kernel's flag PF_EXITING: the process runs no code of its own any more."""
KERNEL_THREAD = 0x200000
"""The kernel's flag PF_KTHREAD."""
AT_ONCE = 65_536
"""Bytes that are read at once."""


class Process(NamedTuple):
    """One process at one moment; its pid and the time of its start together are never used again."""

    pid: int
    started: int
    parent: int
    session: int
    namespace: int
    zombie: bool
    exiting: bool
    environment: bytes
    argv: tuple[str, ...]


class Oracle:
    """Looks for the processes of one run."""

    def __init__(self) -> None:
        self.word = secrets.token_hex(8)
        self._remembered: set[tuple[int, int]] = set()
        self._sessions: set[int] = set()
        self._home = _namespace("/proc/self")
        # Held open: the number of a namespace that is gone is given to the next one at once.
        self._namespaces: dict[int, int] = {}
        weakref.finalize(self, _close, self._namespaces)
        self._pipes = _pipes()

    @property
    def environment(self) -> dict[str, str]:
        """What the run's environment must have in it."""
        return {VARIABLE: self.word}

    def look(self) -> list[Process]:
        """The living processes of the run, which are remembered from now on; a zombie lives when it is our child."""
        everything = {process.pid: process for process in _processes()}
        ours = {pid for pid, process in everything.items() if self._knows(process)}
        while more := {p.pid for p in everything.values() if p.parent in ours and p.pid not in ours}:
            ours |= more
        found = [everything[pid] for pid in sorted(ours)]
        self._remembered |= {(process.pid, process.started) for process in found}
        self._sessions |= {process.session for process in found} - {0, os.getsid(0)}
        for process in found:
            self._hold_namespace(process)
        return [p for p in found if (p.parent == os.getpid() if p.zombie else not p.exiting)]

    def left(self) -> list[tuple[str, ...]]:
        """The argv of every process that is left, and every pipe or process descriptor that was not closed."""
        descriptors = sorted(_pipes() - self._pipes)
        return [process.argv or ("a zombie",) for process in self.look()] + [(name,) for name in descriptors]

    def check(self) -> None:
        """Nothing may be left; what is left all the same is ended, for the sake of the tests that follow."""
        left = self.left()
        self.kill()
        assert left == []

    def kill(self) -> None:
        """End whatever is left."""
        while found := [process for process in self.look() if not process.zombie]:
            for process in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)

    def wait_gone(self, seconds: float) -> list[tuple[str, ...]]:
        """What is still living after so long; for a run that nobody is left to wait for."""
        deadline = time.monotonic() + seconds
        while self.look() and time.monotonic() < deadline:
            time.sleep(0.02)
        return [process.argv for process in self.look()]

    def agent(self) -> Process:
        """The native Codex CLI itself; raises LookupError."""
        for process in self.look():
            if process.argv and Path(process.argv[0]).name == "codex" and "--json" in process.argv:
                return process
        raise LookupError("no living process of the run is a Codex CLI")

    def _knows(self, process: Process) -> bool:
        if (process.pid, process.started) in self._remembered or process.session in self._sessions:
            return True
        if process.namespace in self._namespaces:
            return True
        word = f"{VARIABLE}={self.word}".encode()
        return word in process.environment.split(b"\0") or any(self.word in argument for argument in process.argv)

    def _hold_namespace(self, process: Process) -> None:
        if process.namespace in (0, self._home) or process.namespace in self._namespaces:
            return
        with contextlib.suppress(OSError):
            held = os.open(f"/proc/{process.pid}/ns/pid", os.O_RDONLY)
            if os.fstat(held).st_ino == process.namespace:
                self._namespaces[process.namespace] = held
            else:  # it has gone meanwhile, and another has its pid
                os.close(held)


def _processes() -> Iterator[Process]:
    """All processes of the system but the kernel's own threads."""
    for name in os.listdir("/proc"):  # noqa: PTH208 - a look is taken often, and pathlib would take most of its time
        if not name.isdigit():
            continue
        entry = f"/proc/{name}"
        try:
            # the name, in parentheses, may hold anything; what follows it is numbers
            fields = _read(f"{entry}/stat").rpartition(b")")[2].split()
            if int(fields[6]) & KERNEL_THREAD:
                continue
            argv = _read(f"{entry}/cmdline").decode(errors="replace").split("\0")[:-1]
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield Process(
            pid=int(name),
            started=int(fields[19]),
            parent=int(fields[1]),
            session=int(fields[3]),
            namespace=_namespace(entry),
            zombie=fields[0] in (b"Z", b"X"),
            exiting=bool(int(fields[6]) & EXITING),
            environment=_environment(entry),
            argv=tuple(argv),
        )


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = part = os.read(descriptor, AT_ONCE)
        while len(part) == AT_ONCE:
            part = os.read(descriptor, AT_ONCE)
            data += part
        return data
    finally:
        os.close(descriptor)


def _environment(entry: str) -> bytes:
    try:
        return _read(f"{entry}/environ")
    except OSError:  # a zombie has none, and that of another user's process is not told
        return b""


def _namespace(entry: str) -> int:
    """The number of a process's PID namespace; 0 when it is not told, as that of another user's process."""
    try:
        return os.stat(f"{entry}/ns/pid").st_ino  # noqa: PTH116 - as above
    except OSError:
        return 0


def _close(descriptors: dict[int, int]) -> None:
    for descriptor in descriptors.values():
        os.close(descriptor)


def _pipes() -> set[str]:
    """The pipes and process descriptors that this process has open."""
    names = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            names.add(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return {name for name in names if name.startswith(("pipe:", "anon_inode:[pidfd]"))}
