"""Find what runs left besides processes: temporary files and cgroup directories."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cgroups", "descriptors"]


def descriptors() -> dict[str, str]:
    """What this process has open, by number."""
    found: dict[str, str] = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[entry.name] = str(entry.readlink())
        except FileNotFoundError:  # the one by which the directory is read
            continue
    return found


def cgroups() -> set[str]:
    """The directories of cgroups of runs of this process, wherever they lie."""
    mounts = [line.split(" ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    roots = [Path(words[4]) for words in mounts if "cgroup2" in words[words.index("-") :]]
    found = (f"{above}/{name}" for root in roots for above, names, _ in os.walk(root) for name in names)
    return {path for path in found if f"/codex-adapter-{os.getpid()}-" in path}
