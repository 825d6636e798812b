"""Remove the empty files and directories that an agent's sandbox creates as mount points and leaves behind (K8)."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import trio

from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry, inquire, mount_points
from codex_adapter.runtime.containment.marks import pids

__all__ = ["mount_targets_removed"]

_PATIENCE: Final = 2.0
"""Seconds for which the start and the end of a run wait for the file system."""


@asynccontextmanager
async def mount_targets_removed(roots: Sequence[str], names: Sequence[str]) -> AsyncIterator[None]:
    """Remove, on exit, the mount points with these names that the sandbox left in the directories `roots`.

    Remove only entries that did not exist on entry, are empty, and are not a mount point of any process.
    """
    missing: list[_Root] = []
    with suppress(BackendError):
        missing = await inquire(_missing, roots, names, seconds=_PATIENCE)
    try:
        yield
    finally:
        if missing:
            with trio.CancelScope(shield=True), suppress(BackendError):
                await inquire(_remove, missing, seconds=_PATIENCE)


class _Root(NamedTuple):
    """A writable directory: its path without links, its device and inode, and the names that do not exist in it."""

    path: str
    identity: tuple[int, int]
    missing: list[str]


def _missing(inquiry: Inquiry, roots: Sequence[str], names: Sequence[str]) -> list[_Root]:
    found: dict[str, _Root] = {}
    for root in roots:
        inquiry.at("directory that the agent may write to", root)
        with suppress(OSError):
            real = os.path.realpath(root)
            facts = Path(real).stat()
            missing = [name for name in names if not os.path.lexists(f"{real}/{name}")]
            found[real] = _Root(real, (facts.st_dev, facts.st_ino), missing)
    return [root for root in found.values() if root.missing]


def _remove(inquiry: Inquiry, roots: list[_Root]) -> None:
    mounted: set[str] | None = None
    for root in roots:
        inquiry.at("directory that the agent may write to", root.path)
        with suppress(OSError):
            # The agent may have replaced it with another directory, or with a link to one.
            fd = os.open(root.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                facts = os.fstat(fd)
                left = [name for name in root.missing if _is_target(fd, name)]
                if not left or (facts.st_dev, facts.st_ino) != root.identity:
                    continue
                mounted = _mounted() if mounted is None else mounted
                for name in left:
                    if f"{root.path}/{name}" not in mounted and not inquiry.abandoned:
                        _remove_target(fd, name)
            finally:
                os.close(fd)


def _remove_target(directory: int, name: str) -> None:
    with suppress(OSError):  # it is not empty
        try:
            os.rmdir(name, dir_fd=directory)
        except NotADirectoryError:
            if _is_target(directory, name):
                os.unlink(name, dir_fd=directory)


def _is_target(directory: int, name: str) -> bool:
    """Return whether the entry is a directory, or an empty read-only file as CLI 0.125 creates."""
    with suppress(OSError):
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            return found.st_size == 0 and not found.st_mode & 0o222
        return stat.S_ISDIR(found.st_mode)
    return False


def _mounted() -> set[str]:
    """Return the mount points of all processes: the removal of such a directory would end the mount."""
    found: set[str] = set()
    namespaces: set[int] = set()
    for pid in pids():
        with suppress(OSError):
            namespace = Path(f"/proc/{pid}/ns/mnt").stat().st_ino
            if namespace not in namespaces:
                found.update(mount_points(pid))
                namespaces.add(namespace)
    return found
