"""Remove the empty files and directories that the CLI's sandbox mounts over, where a run left them (K8)."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import trio

from codex_adapter.core.extensions import ExecOptions
from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry, inquire, mount_points
from codex_adapter.runtime.marks import pids

__all__ = ["mount_targets_removed"]

_NAMES: Final = (".git", ".codex", ".agents", ".aws")
_PATIENCE: Final = 2.0
"""Seconds that the start and the end of a run wait for an answer."""


@asynccontextmanager
async def mount_targets_removed(options: ExecOptions, env: Mapping[str, str], cwd: str) -> AsyncIterator[None]:
    """Remove on leaving what the CLI's sandbox left in the directories that it may write to.

    Only what was not there on entering, is empty, and is a mount point of no process goes.
    """
    missing: list[str] = []
    if options.sandbox_mode == "workspace-write":
        roots = [cwd, *options.add_dirs, "/tmp", env.get("TMPDIR", "/tmp")]  # noqa: S108 - as the CLI has them
        with suppress(BackendError):
            missing = await inquire(_missing, roots, seconds=_PATIENCE)
    try:
        yield
    finally:
        if missing:
            with trio.CancelScope(shield=True), suppress(BackendError):
                await inquire(_remove, missing, seconds=_PATIENCE)


def _missing(inquiry: Inquiry, roots: list[str]) -> list[str]:
    """Return the paths of mount targets that are not there, without symbolic links in their directories."""
    found: dict[str, None] = {}
    for root in roots:
        inquiry.at("directory that the agent may write to", root)
        real = os.path.realpath(root)
        found.update((f"{real}/{name}", None) for name in _NAMES if not os.path.lexists(f"{real}/{name}"))
    return list(found)


def _remove(inquiry: Inquiry, paths: list[str]) -> None:
    left = []
    for path in paths:
        inquiry.at("directory that the agent may write to", path)
        if _is_target(path):
            left.append(path)
    if left:
        mounted = _mounted()
        for path in left:
            if path not in mounted and not inquiry.abandoned:
                with suppress(OSError):
                    (os.rmdir if os.path.isdir(path) else os.unlink)(path)  # noqa: PTH112 - a string, whatever it holds


def _is_target(path: str) -> bool:
    """Return whether there is an empty directory or, as CLI 0.125 makes it, an empty file that is only to be read."""
    with suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode):
            return found.st_size == 0 and not found.st_mode & 0o222
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(path) as entries:
                return next(entries, None) is None
    return False


def _mounted() -> set[str]:
    """Return where something is mounted for any process: the removal of such a directory would end that mount."""
    found: set[str] = set()
    namespaces: set[int] = set()
    for pid in pids():
        with suppress(OSError):
            namespace = Path(f"/proc/{pid}/ns/mnt").stat().st_ino
            if namespace not in namespaces:
                found.update(mount_points(pid))
                namespaces.add(namespace)
    return found
