"""What runs have left behind whose adapter was killed and that no guard has ended: how to find it, and end it (N5)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import msgspec

from codex_adapter.runtime.cgroup import left_cgroups
from codex_adapter.runtime.killing import kill_until_none_is_found
from codex_adapter.runtime.marks import adapter_is_gone, mark_of, pids
from codex_adapter.runtime.schema_file import left_directories

__all__ = ["Orphan", "end_orphans", "orphans"]


class Orphan(msgspec.Struct, frozen=True):
    """A living process of a run whose adapter is gone; `name` is its program's, `seconds` its age."""

    pid: int
    name: str
    seconds: float


def orphans() -> list[Orphan]:
    """The orphans that this user may see: they carry the mark of an adapter that is gone, or are in its cgroup (N5)."""
    found = set(_orphaned())
    found.update(pid for cgroup in left_cgroups() for pid in cgroup.processes())
    return [orphan for pid in sorted(found) if (orphan := _describe(pid)) is not None]


async def end_orphans() -> list[Orphan]:
    """Kill all orphans, remove the cgroups and directories of their runs, and give the orphans that are left (N5)."""
    for cgroup in left_cgroups():
        await cgroup.aclose()
    await kill_until_none_is_found(_kill)
    for directory in left_directories():
        rmtree(directory, ignore_errors=True)
    return orphans()


def _is_orphan(pid: int) -> bool:
    marks = mark_of(pid)
    return marks is not None and adapter_is_gone(marks)


def _kill() -> bool:
    found = False
    for pid in _orphaned():
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(pid)
            try:
                # Looked at again: meanwhile the id may have been given to another process.
                if _is_orphan(pid):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    found = True
            finally:
                os.close(descriptor)
    return found


def _orphaned() -> Iterator[int]:
    return (pid for pid in pids() if _is_orphan(pid))


def _describe(pid: int) -> Orphan | None:
    try:
        before, _, after = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")
        started = int(after.split()[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return None
    name = before.partition(b"(")[2].decode(errors="replace")
    return Orphan(pid, name, max(0.0, round(time.clock_gettime(time.CLOCK_BOOTTIME) - started, 1)))
