"""The run's mark in the environment of its processes: whose it is, and how to find who carries it (K4, N4)."""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

__all__ = [
    "MARK_VARIABLE",
    "adapter_is_gone",
    "directory_name",
    "is_left_directory",
    "kill_marked",
    "mark_of",
    "marked",
    "new_mark",
    "pids",
    "with_mark",
]

MARK_VARIABLE: Final = "CODEX_ADAPTER_RUN"
_VARIABLE: Final = f"{MARK_VARIABLE}=".encode()
_DIRECTORY: Final = "codex-adapter-"


def new_mark() -> str:
    """A mark that no other run has. It begins with what tells this adapter from all others on the machine."""
    return f"{_of_process(os.getpid())}{uuid.uuid4().hex}"


def with_mark(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment of a run with its mark.

    An adapter inside a run keeps the outer run's mark, so that the outer run still knows its processes.
    """
    return {**env, MARK_VARIABLE: ":".join(filter(None, (env.get(MARK_VARIABLE), mark)))}


def adapter_is_gone(marks: str) -> bool:
    """Whether an adapter that these marks name is surely gone; one of another PID namespace cannot be judged."""
    here = str(_namespace())
    for mark in marks.split(":"):
        match mark.split("-"):
            case [pid, started, namespace, _] if namespace == here != "0" and pid.isdecimal():
                if str(_started(int(pid))) != started:
                    return True
    return False


def directory_name(mark: str) -> str:
    """The name of a directory, wherever it is, that belongs to the run with this mark."""
    return _DIRECTORY + mark


def is_left_directory(name: str) -> bool:
    """Whether this is the name of a directory of a run whose adapter is gone."""
    if not name.startswith(_DIRECTORY):
        return False
    marks = name.removeprefix(_DIRECTORY)
    # Most often it is of a run of this process, which can have hundreds at once.
    return not marks.startswith(_of_process(os.getpid())) and adapter_is_gone(marks)


def pids() -> Iterator[int]:
    """The processes of this machine that can be seen from here."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - names are all that is needed, and there are many
            if name.isdecimal():
                yield int(name)


def marked(mark: str) -> Iterator[int]:
    """Living processes that carry the mark; one about to be gone has no environment any more."""
    wanted = mark.encode()
    for pid in pids():
        if wanted in (_environment(pid) or b""):
            yield pid


def mark_of(pid: int) -> str | None:
    """The marks that a process carries, `:` between them; None when it has none, is gone, or is another user's."""
    for variable in (_environment(pid) or b"").split(b"\0"):
        if variable.startswith(_VARIABLE):
            return variable.removeprefix(_VARIABLE).decode(errors="replace")
    return None


def kill_marked(mark: str) -> bool:
    """SIGKILL to all that carry the mark now; whether there was any."""
    found = False
    for pid in marked(mark):
        found = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return found


@lru_cache(maxsize=1)
def _of_process(pid: int) -> str:
    """What the marks of this process begin with, which has the id `pid`: a fork's begin with something else."""
    return f"{pid}-{_started(pid) or 0}-{_namespace()}-"


def _environment(pid: int) -> bytes | None:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return None


def _started(pid: int) -> int | None:
    """When a living process was started, in ticks since the machine was; with its id that is never used again."""
    try:
        # The name, in parentheses, may hold anything; what follows it is numbers.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, IndexError):
        return None


def _namespace() -> int:
    """The PID namespace in which this process's ids count; 0 where there is no telling."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
