"""Read what the kernel reports about this process and its descendants."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import msgspec

__all__ = ["Memory", "children_seconds", "descriptors", "guards", "most_memory", "thread_seconds"]


class Memory(msgspec.Struct, frozen=True):
    """KiB of a process: resident, its share of that, and what is nobody else's."""

    resident: int
    share: int
    private: int

    @staticmethod
    def of(pid: int | str) -> Memory:
        """As the kernel tells it."""
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        sizes = {name: int(size.split()[0]) for name, size in (line.split(":") for line in lines)}
        return Memory(sizes["Rss"], sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"])


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count is all that is needed


def children_seconds() -> float:
    """CPU seconds of the children that this process has waited for, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def most_memory(pid: int) -> int:
    """The most KiB that a process has ever had resident."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def thread_seconds(pid: int) -> float:
    """CPU seconds of a process that lives, by all of its threads that do."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def guards(pid: str = "self") -> Iterator[str]:
    """The processes below this one that are guards of runs."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            if b"guard.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                yield child
                yield from guards(child)
