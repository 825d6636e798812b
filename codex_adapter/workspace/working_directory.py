"""Open the working directory of a command by descriptor, so that a rename does not change it (H10)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.files import Workspace

__all__ = ["Place", "find_root", "open_working_directory"]


class Place(NamedTuple):
    """An open directory: `path` leads to it by its descriptor, `name` is its path in the file system."""

    path: str
    name: str


@contextmanager
def open_working_directory(workspace: Workspace, cwd: str) -> Iterator[Place]:
    """Open the directory `cwd` of the workspace until the body ends. Raises `WorkspaceError` (H10)."""
    try:
        descriptor = _open(workspace, cwd)
    except WorkspaceError as error:
        text = "it does not exist" if error.code == "not_found" else error.text
        raise WorkspaceError(error.code, f"Working directory: {text}") from None
    try:
        yield _make_place(descriptor, os.path.join(workspace.root, cwd))  # noqa: PTH118 - a string, which may have any character
    finally:
        os.close(descriptor)


def find_root(workspace: Workspace) -> str:
    """Return the current path of the root, without links. Raises `WorkspaceError` if the root has no path any more."""
    descriptor = _open(workspace, "")
    try:
        name = _make_place(descriptor, workspace.root).name
        if os.path.samestat(os.stat(name), os.fstat(descriptor)):  # noqa: PTH116 - a string, which may have any character
            return name
    except OSError:
        pass
    finally:
        os.close(descriptor)
    raise WorkspaceError("gone", "The workspace no longer exists")


def _open(workspace: Workspace, cwd: str) -> int:
    with workspace.directory(cwd) as found:
        try:
            # Not 0, 1 or 2: a process gets its own three descriptors before it enters the directory.
            return fcntl.fcntl(found, fcntl.F_DUPFD_CLOEXEC, 3)
        except OSError as error:
            raise WorkspaceError.of(error) from None


def _make_place(descriptor: int, path: str) -> Place:
    by_descriptor = f"/proc/self/fd/{descriptor}"
    try:
        return Place(by_descriptor, os.readlink(by_descriptor))  # noqa: PTH115 - a string, which may have any character
    except OSError:
        # Without /proc, only the path is available. Another directory may have this path by now.
        name = os.path.realpath(path)
        return Place(name, name)
