"""Make a cgroup for a run, if this process may make one below its own cgroup (N1)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from codex_adapter.runtime.containment.kill_all import kill_until_none_is_found
from codex_adapter.runtime.containment.marks import (
    directory_name,
    is_left_directory,
    living_namespaces,
    namespace_of_directory,
)
from codex_adapter.runtime.exhaustion import is_shortage

__all__ = ["Cgroup", "left_cgroups", "make_cgroup", "remove_stranded_cgroups"]


class Cgroup:
    """A directory of the cgroup file system that holds all processes of one run."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def aclose(self) -> None:
        """Kill its processes and remove it, within about a second."""
        await kill_until_none_is_found(self._kill)

    def processes(self) -> list[int]:
        """Return the ids of its processes."""
        try:
            return [int(line) for line in Path(self.path, "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def _kill(self) -> bool:
        """Kill its processes and try to remove it. Return whether it still exists."""
        with contextlib.suppress(OSError):
            Path(self.path, "cgroup.kill").write_text("1")
        with contextlib.suppress(OSError):
            os.rmdir(self.path)  # noqa: PTH106 - this file system does not block
        return os.path.lexists(self.path)


def make_cgroup(mark: str) -> Cgroup | None:
    """Return a new cgroup below this process's own; None if there is no cgroup with `cgroup.kill`.

    Raise OSError for a temporary shortage.
    """
    place = _find_own_cgroup()
    if place is None:
        return None
    home = Path(place[0], place[1])
    _remove_left_cgroups(home)
    path = home / directory_name(mark)
    try:
        path.mkdir()
    except OSError as error:
        if is_shortage(error):
            raise
        return None
    if not (path / "cgroup.kill").exists():
        with contextlib.suppress(OSError):
            path.rmdir()
        return None
    return Cgroup(str(path))


def left_cgroups() -> Iterator[Cgroup]:
    """Yield the cgroups of dead adapters' runs, anywhere on this machine."""
    for directory, name in _list_cgroups():
        if is_left_directory(name):
            yield Cgroup(os.path.join(directory, name))  # noqa: PTH118 - as os.walk returns them


def remove_stranded_cgroups() -> None:
    """Remove the empty cgroups of adapters whose PID namespace has no process any more.

    The order matters: the cgroups are listed before the processes. So the adapter of a listed cgroup is either in the
    list of processes or has exited (N5).
    """
    found = [(directory, name, namespace_of_directory(name)) for directory, name in _list_cgroups()]
    living = living_namespaces()
    for directory, name, namespace in found:
        if living is not None and namespace is not None and namespace not in living:
            with contextlib.suppress(OSError):  # it is not empty, or belongs to another user
                os.rmdir(os.path.join(directory, name))  # noqa: PTH106, PTH118 - as os.walk returns them


def _list_cgroups() -> Iterator[tuple[str, str]]:
    """Yield all cgroups of the unified hierarchy: the path of the parent, and the name."""
    place = _find_own_cgroup()
    if place is not None:
        for directory, below, _ in os.walk(place[0]):
            yield from ((directory, name) for name in below)


def _remove_left_cgroups(home: Path) -> None:
    """Remove the empty cgroups of dead adapters, which could not remove their own."""
    with contextlib.suppress(OSError):
        for name in os.listdir(home):  # noqa: PTH208 - only names are needed
            if is_left_directory(name):
                with contextlib.suppress(OSError):
                    Path(home, name).rmdir()


def _find_own_cgroup() -> tuple[str, str] | None:
    """Return the mount point of the unified hierarchy, and this process's cgroup below it."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        if is_shortage(error):
            raise
        return None
    own = next((line[3:] for line in groups.splitlines() if line.startswith("0::")), None)
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 ") and own is not None:
            return before.split(" ")[4], own.lstrip("/")
    return None
