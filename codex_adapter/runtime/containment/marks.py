"""The run's mark in the environment of its processes: whose it is, and how to find who carries it (K4, N4)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import uuid
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

__all__ = [
    "MARK_VARIABLE",
    "adapter_has_exited",
    "directory_name",
    "is_left_directory",
    "is_of_this_boot",
    "kill_marked",
    "living_namespaces",
    "mark_of",
    "marked",
    "namespace_of_directory",
    "new_mark",
    "pids",
    "with_mark",
]

MARK_VARIABLE: Final = "CODEX_ADAPTER_RUN"
_VARIABLE: Final = f"{MARK_VARIABLE}=".encode()
_DIRECTORY: Final = "codex-adapter-"
_FIRST_NAMESPACE: Final = 0xEFFFFFFC
"""The inode of the PID namespace that a kernel starts with (PROC_PID_INIT_INO)."""
_PF_KTHREAD: Final = 0x200000
_EXECVE_READS: Final = 200
_EXECVE_SECONDS: Final = 0.0005


def new_mark() -> str:
    """A mark that no other run has. It begins with what tells this adapter from all others on the machine."""
    return f"{_of_process(os.getpid())}{uuid.uuid4().hex}"


def with_mark(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment of a run with its mark.

    An adapter inside a run keeps the outer run's mark, so that the outer run still knows its processes.
    """
    return {**env, MARK_VARIABLE: ":".join(filter(None, (env.get(MARK_VARIABLE), mark)))}


def adapter_has_exited(marks: str) -> bool:
    """Return whether an adapter that these marks name is surely gone; one of another PID namespace cannot be judged.

    The marks must be of this machine and its present boot, as those of processes and cgroups are.
    """
    here = str(_namespace())
    for mark in marks.split(":"):
        match mark.split("-"):
            case [pid, started, namespace, _, _] if namespace == here != "0" and pid.isdecimal():
                if str(_started(int(pid))) != started:
                    return True
    return False


def directory_name(mark: str) -> str:
    """The name of a directory, wherever it is, that belongs to the run with this mark."""
    return _DIRECTORY + mark


def is_left_directory(name: str) -> bool:
    """Return whether this names a directory, of this machine and boot, of a run whose adapter is gone."""
    if not name.startswith(_DIRECTORY):
        return False
    marks = name.removeprefix(_DIRECTORY)
    # Most often it is of a run of this process, which can have hundreds at once.
    return not marks.startswith(_of_process(os.getpid())) and adapter_has_exited(marks)


def is_of_this_boot(name: str) -> bool:
    """Return whether the directory of this name was made on this machine since its start; False where that is unknown.

    Machines can share a file system, and then a process id and an inode say nothing about whose a directory is (N4).
    """
    match name.removeprefix(_DIRECTORY).split("-"):
        case [_, _, _, boot, _]:
            return boot == _boot() != "0"
    return False


def namespace_of_directory(name: str) -> int | None:
    """Return the inode of the PID namespace of the adapter whose run has a directory of this name."""
    match name.removeprefix(_DIRECTORY).split("-"):
        case [_, _, namespace, _, _] if name.startswith(_DIRECTORY) and namespace.isdecimal():
            return int(namespace)
    return None


def pids() -> Iterator[int]:
    """The processes of this machine that can be seen from here."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - names are all that is needed, and there are many
            if name.isdecimal():
                yield int(name)


def living_namespaces() -> set[int] | None:
    """Return the inodes of the PID namespaces that have a process; None where that cannot be known.

    Only the first namespace of a machine sees all others. A process that this user may not look at is of that one, or
    its namespace stays unknown.
    """
    if _namespace() != _FIRST_NAMESPACE:
        return None
    found = {_FIRST_NAMESPACE}
    for pid in pids():
        try:
            found.add(Path(f"/proc/{pid}/ns/pid").stat().st_ino)
        except FileNotFoundError:
            continue  # it has exited
        except OSError:
            if _is_in_inner_namespace(pid):
                return None
    return found


def _is_in_inner_namespace(pid: int) -> bool:
    """Return whether the process has an id in another PID namespace as well; False when it has exited."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
        return next((len(line.split()) > 2 for line in lines if line.startswith(b"NSpid:")), True)
    return False


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
    return f"{pid}-{_started(pid) or 0}-{_namespace()}-{_boot()}-"


def _environment(pid: int) -> bytes | None:
    """Return the environment of a process; None when it has exited, may not be read, or does not finish its `execve`.

    For an instant in `execve`, a process has no environment, and would look as if it did not carry the mark.
    """
    path = Path(f"/proc/{pid}/environ")
    with contextlib.suppress(OSError):
        for _ in range(_EXECVE_READS):
            if found := path.read_bytes():
                return found
            start, end = _environment_range(pid)
            if start != end:  # it was executing the program at the first read
                continue
            if end:
                # Either it has no variable, or the kernel has not copied them yet.
                time.sleep(_EXECVE_SECONDS)
                return path.read_bytes()
            time.sleep(_EXECVE_SECONDS)
    return None


def _environment_range(pid: int) -> tuple[int, int]:
    """Return where the environment of a process lies in its memory; zeros in `execve`. Raises OSError for others.

    A process that has exited and a thread of the kernel never have one.
    """
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    if fields[0] in (b"Z", b"X") or int(fields[6]) & _PF_KTHREAD:
        raise ProcessLookupError
    return int(fields[47]), int(fields[48])


def _started(pid: int) -> int | None:
    """When a living process was started, in ticks since the machine was; with its id that is never used again."""
    try:
        # The name, in parentheses, may hold anything; what follows it is numbers.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, IndexError):
        return None


@lru_cache(maxsize=1)
def _boot() -> str:
    """Return what tells this machine's present boot from all others; `0` where the system does not say."""
    try:
        return uuid.UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip()).hex
    except (OSError, ValueError):
        return "0"


def _namespace() -> int:
    """The PID namespace in which this process's ids count; 0 where there is no telling."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
