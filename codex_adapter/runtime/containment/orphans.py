"""Find and end the processes that killed adapters have left behind and that no guard has ended (N5)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from codex_adapter.own_directories import remove_tree
from codex_adapter.runtime.containment.cgroup import left_cgroups, remove_stranded_cgroups
from codex_adapter.runtime.containment.exits import open_pidfd
from codex_adapter.runtime.containment.kill_all import kill_until_none_is_found
from codex_adapter.runtime.containment.marks import adapter_has_exited, mark_of, pids
from codex_adapter.runtime.mount_targets import remove_left_targets
from codex_adapter.runtime.private_file import left_directories

__all__ = ["Orphan", "end_orphans", "orphans"]


class Orphan(msgspec.Struct, frozen=True):
    """A living process of a dead adapter's run. `name` is the name of its program, `seconds` its age."""

    pid: int
    name: str
    seconds: float


def orphans() -> list[Orphan]:
    """Return the orphans that this user may see: they have the mark of a dead adapter, or are in its cgroup (N5)."""
    found = set(_find_marked_orphans())
    found.update(pid for cgroup in left_cgroups() for pid in cgroup.processes())
    return [orphan for pid in sorted(found) if (orphan := _describe(pid)) is not None]


async def end_orphans() -> list[Orphan]:
    """Kill all orphans, remove what their runs left on disk, and return the remaining orphans (N5)."""
    for cgroup in left_cgroups():
        await cgroup.aclose()
    await kill_until_none_is_found(_kill)
    for directory in left_directories():
        with contextlib.suppress(OSError):
            remove_tree(directory)
    remove_left_targets()
    remove_stranded_cgroups()
    return orphans()


def _is_orphan(pid: int) -> bool:
    marks = mark_of(pid)
    return marks is not None and adapter_has_exited(marks)


def _kill() -> bool:
    found = False
    for pid in _find_marked_orphans():
        pidfd = open_pidfd(pid)
        # Checked again, because another process may have the id by now. Without a pidfd, a short race remains.
        if _is_orphan(pid):
            with contextlib.suppress(OSError):
                _send_sigkill(pid, pidfd)
                found = True
        if pidfd is not None:
            os.close(pidfd)
    return found


def _send_sigkill(pid: int, pidfd: int | None) -> None:
    if pidfd is None:
        os.kill(pid, signal.SIGKILL)
    else:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def _find_marked_orphans() -> Iterator[int]:
    return (pid for pid in pids() if _is_orphan(pid))


def _describe(pid: int) -> Orphan | None:
    try:
        before, _, after = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")
        started = int(after.split()[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return None
    name = before.partition(b"(")[2].decode(errors="replace")
    return Orphan(pid, name, max(0.0, round(time.clock_gettime(time.CLOCK_BOOTTIME) - started, 1)))
