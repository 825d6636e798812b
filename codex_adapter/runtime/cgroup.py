"""A cgroup of a run's own, where this process may make one below its own cgroup (N1)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

import trio

__all__ = ["Cgroup", "make_cgroup"]

_PREFIX: Final = "codex-adapter-"
_ROUNDS: Final = 200
_ROUND_SECONDS: Final = 0.005


class Cgroup:
    """A directory of the cgroup file system that holds all of one run."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def aclose(self) -> None:
        """Kill what is in it and remove it, within about a second."""
        for _ in range(_ROUNDS):
            with contextlib.suppress(OSError):
                Path(self.path, "cgroup.kill").write_text("1")
            try:
                os.rmdir(self.path)  # noqa: PTH106, ASYNC240 - an instant on this file system
            except FileNotFoundError:
                return
            except OSError:
                await trio.sleep(_ROUND_SECONDS)
            else:
                return


def make_cgroup(name: str) -> Cgroup | None:
    """A new cgroup below this process's own, with `cgroup.kill`; None where that cannot be had.

    `name` begins with the process id of this adapter.
    """
    home = _own_cgroup()
    if home is None:
        return None
    _sweep(home)
    path = home / (_PREFIX + name)
    try:
        path.mkdir()
    except OSError:
        return None
    if not (path / "cgroup.kill").exists():
        with contextlib.suppress(OSError):
            path.rmdir()
        return None
    return Cgroup(str(path))


def _sweep(home: Path) -> None:
    """Remove empty cgroups of adapters that are gone: one that was killed could not remove its own."""
    for path in home.glob(f"{_PREFIX}*"):
        adapter = path.name.removeprefix(_PREFIX).partition("-")[0]
        if adapter.isdigit() and not Path("/proc", adapter).exists():
            with contextlib.suppress(OSError):
                path.rmdir()


def _own_cgroup() -> Path | None:
    """The directory of this process's cgroup in the unified hierarchy."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    own = next((line[3:] for line in groups.splitlines() if line.startswith("0::")), None)
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 ") and own is not None:
            return Path(before.split(" ")[4], own.lstrip("/"))
    return None
