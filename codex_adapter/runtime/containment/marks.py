"""Mark the processes of a run in their environment, and find the processes with a mark (K4, N4)."""

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
    "boot_id",
    "directory_name",
    "group_is_alive",
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
_BOOT_DIGITS: Final = 12
_RUN_DIGITS: Final = 8
_FIRST_NAMESPACE: Final = 0xEFFFFFFC
"""The inode of the first PID namespace of a kernel (PROC_PID_INIT_INO)."""
_PF_KTHREAD: Final = 0x200000
_EXECVE_READS: Final = 200
_EXECVE_SECONDS: Final = 0.0005


def new_mark() -> str:
    """Return a unique mark. Its beginning identifies this adapter on this machine."""
    return f"{_mark_prefix(os.getpid())}{uuid.uuid4().hex}"


def with_mark(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """Return the environment of a run with its mark.

    An adapter inside a run keeps the outer run's mark, so that the outer run still finds its processes.
    """
    return {**env, MARK_VARIABLE: ":".join(filter(None, (env.get(MARK_VARIABLE), mark)))}


def adapter_has_exited(marks: str) -> bool:
    """Return whether an adapter of these marks has certainly exited. In another PID namespace this is unknown.

    The marks must come from processes or cgroups of this machine, so that they are of its current boot.
    """
    here = str(_namespace())
    for mark in marks.split(":"):
        match mark.split("-"):
            case [pid, started, namespace, _, _] if namespace == here != "0" and pid.isdecimal():
                if str(_start_time(int(pid))) != started:
                    return True
    return False


def directory_name(mark: str) -> str:
    """Return the name of the directories of the run with this mark.

    It is short, with the beginnings of the last two parts, because a path of a socket has at most 107 bytes.
    """
    *adapter, boot, run = mark.split("-")
    return _DIRECTORY + "-".join([*adapter, boot[:_BOOT_DIGITS], run[:_RUN_DIGITS]])


def is_left_directory(name: str) -> bool:
    """Return whether this is the directory name of a dead adapter's run, on this machine and in this boot."""
    if not name.startswith(_DIRECTORY):
        return False
    marks = name.removeprefix(_DIRECTORY)
    # Most directories belong to runs of this process, which can have hundreds at once.
    own = "-".join(_mark_prefix(os.getpid()).split("-")[:3])
    return not marks.startswith(f"{own}-") and adapter_has_exited(marks)


def is_of_this_boot(name: str) -> bool:
    """Return whether the directory of this name was made on this machine since its boot. False if that is unknown.

    Machines can share a file system. Then a process id and an inode do not identify the owner of a directory (N4).
    """
    match name.removeprefix(_DIRECTORY).split("-"):
        case [_, _, _, boot, _]:
            return boot == boot_id()[:_BOOT_DIGITS] != "0"
    return False


def namespace_of_directory(name: str) -> int | None:
    """Return the inode of the adapter's PID namespace from the name of a run's directory."""
    match name.removeprefix(_DIRECTORY).split("-"):
        case [_, _, namespace, _, _] if name.startswith(_DIRECTORY) and namespace.isdecimal():
            return int(namespace)
    return None


def pids() -> Iterator[int]:
    """Yield the ids of the visible processes."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - only names are needed, and there are many
            if name.isdecimal():
                yield int(name)


def living_namespaces() -> set[int] | None:
    """Return the inodes of the PID namespaces that have a process; None if this is unknown.

    Only the first namespace of a machine sees all others. A process that this user may not inspect is in the first one,
    or its namespace stays unknown.
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
    """Return whether the process has an id in another PID namespace too; False if it has exited."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
        return next((len(line.split()) > 2 for line in lines if line.startswith(b"NSpid:")), True)
    return False


def marked(mark: str) -> Iterator[int]:
    """Yield the living processes with the mark. A process that is about to exit has no environment."""
    wanted = mark.encode()
    for pid in pids():
        if wanted in (_environment(pid) or b""):
            yield pid


def mark_of(pid: int) -> str | None:
    """Return the marks of a process, separated by `:`; None if it has none, has exited, or is another user's."""
    for variable in (_environment(pid) or b"").split(b"\0"):
        if variable.startswith(_VARIABLE):
            return variable.removeprefix(_VARIABLE).decode(errors="replace")
    return None


def group_is_alive(group: int) -> bool:
    """Return whether a process of this group has not exited."""
    for pid in pids():
        with contextlib.suppress(OSError, IndexError):
            state, _, own_group = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:3]
            if int(own_group) == group and state not in (b"Z", b"X"):
                return True
    return False


def kill_marked(mark: str) -> bool:
    """Send SIGKILL to all processes with the mark. Return whether there were any."""
    found = False
    for pid in marked(mark):
        found = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return found


@lru_cache(maxsize=1)
def _mark_prefix(pid: int) -> str:
    """Return the beginning of the marks of this process, which has the id `pid`. A fork has another beginning."""
    return f"{pid}-{_start_time(pid) or 0}-{_namespace()}-{boot_id()}-"


def _environment(pid: int) -> bytes | None:
    """Return the environment of a process; None if it has exited, cannot be read, or does not finish its `execve`.

    For an instant in `execve`, a process has no environment and would appear to have no mark.
    """
    path = Path(f"/proc/{pid}/environ")
    with contextlib.suppress(OSError):
        for _ in range(_EXECVE_READS):
            if found := path.read_bytes():
                return found
            start, end = _environment_range(pid)
            if start == end:
                time.sleep(_EXECVE_SECONDS)
            if start == end != 0:  # the process has no variable, or the kernel had not copied them
                found = path.read_bytes()
                if found or _environment_range(pid) == (start, end):  # not in the next `execve`
                    return found
    return None


def _environment_range(pid: int) -> tuple[int, int]:
    """Return the address range of a process's environment; zeros during `execve`.

    Raise OSError for an exited process and for a kernel thread, which have no environment.
    """
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    if fields[0] in (b"Z", b"X") or int(fields[6]) & _PF_KTHREAD:
        raise ProcessLookupError
    return int(fields[47]), int(fields[48])


def _start_time(pid: int) -> int | None:
    """Return the start time of a living process, in ticks since boot. Together with its id, it is unique."""
    try:
        # The name, in parentheses, may contain any character. Only numbers follow it.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, IndexError):
        return None


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Return the id of this machine's current boot; `0` if the system does not report one."""
    try:
        return uuid.UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip()).hex
    except (OSError, ValueError):
        return "0"


def _namespace() -> int:
    """Return the inode of this process's PID namespace; 0 if it is unknown."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
