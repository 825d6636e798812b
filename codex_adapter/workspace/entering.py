"""Start processes in directories of a workspace, by descriptor, even while they are renamed (H10)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.files import Workspace

__all__ = ["Place", "entered", "root_name"]


class Place(NamedTuple):
    """A directory: `path` leads to it and no other while it is entered; `name` is its path for people."""

    path: str
    name: str


@contextmanager
def entered(workspace: Workspace, cwd: str) -> Iterator[Place]:
    """Open the directory `cwd` of the workspace for the body (H10). Raises `WorkspaceError`."""
    try:
        descriptor = _open(workspace, cwd)
    except WorkspaceError as error:
        text = "there is no such directory" if error.code == "not_found" else error.text
        raise WorkspaceError(error.code, f"Working directory: {text}") from None
    try:
        yield _place(descriptor, os.path.join(workspace.root, cwd))  # noqa: PTH118 - a string, whatever it holds
    finally:
        os.close(descriptor)


def root_name(workspace: Workspace) -> str:
    """Return the present path of the root, without links. Raises `WorkspaceError` if it has none any more."""
    descriptor = _open(workspace, "")
    try:
        name = _place(descriptor, workspace.root).name
        if os.path.samestat(os.stat(name), os.fstat(descriptor)):  # noqa: PTH116 - a string, whatever it holds
            return name
    except OSError:
        pass
    finally:
        os.close(descriptor)
    raise WorkspaceError("gone", "The workspace is gone")


def _open(workspace: Workspace, cwd: str) -> int:
    with workspace.directory(cwd) as found:
        try:
            # Not one of the lowest three: a process gets its own there before it enters the directory.
            return fcntl.fcntl(found, fcntl.F_DUPFD_CLOEXEC, 3)
        except OSError as error:
            raise WorkspaceError.of(error) from None


def _place(descriptor: int, path: str) -> Place:
    by_descriptor = f"/proc/self/fd/{descriptor}"
    try:
        return Place(by_descriptor, os.readlink(by_descriptor))  # noqa: PTH115 - a string, whatever it holds
    except OSError:
        # Without /proc only the name is available, which another directory may have by now.
        name = os.path.realpath(path)
        return Place(name, name)
