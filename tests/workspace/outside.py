"""Provide a tree outside the workspace, and try every file operation on it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from codex_adapter.workspace import Workspace, WorkspaceError

__all__ = ["LIMIT", "OPERATIONS", "SECRET", "outcome", "outside_tree", "snapshot"]

SECRET = b"what no agent may see\n"
LIMIT = 1 << 20


def outside_tree(path: Path) -> Path:
    """A directory with files, a directory and a link, all of them outside."""
    (path / "inner").mkdir(parents=True)
    for name in ("secret.txt", "inner/secret.txt", "other.txt"):
        (path / name).write_bytes(SECRET)
    (path / "link").symlink_to("secret.txt")
    for target in (b"secret.txt", b"other.txt"):  # A sweep that is led astray would take them.
        (path / f".codex-adapter-{hashlib.sha256(target).hexdigest()[:16]}-0123456789abcdef").touch()
    return path


def snapshot(path: Path) -> dict[str, tuple[object, ...]]:
    """All that could have been changed: names, inodes, modes, times, contents."""
    found: dict[str, tuple[object, ...]] = {}
    for each in [path, *sorted(path.rglob("*"))]:
        status = each.lstat()
        content = str(each.readlink()) if each.is_symlink() else each.read_bytes() if each.is_file() else None
        found[str(each.relative_to(path))] = (status.st_ino, status.st_mode, status.st_mtime_ns, content)
    return found


def _write(workspace: Workspace, path: str, *, overwrite: bool) -> object:
    return workspace.write(path, [b"from the agent"], overwrite=overwrite, limit=LIMIT)


def _directory(workspace: Workspace, where: str) -> object:
    with workspace.directory(where) as descriptor:
        return sorted(path.name for path in Path(f"/proc/self/fd/{descriptor}").iterdir())


OPERATIONS: dict[str, Callable[[Workspace, str], object]] = {
    "read": lambda workspace, path: workspace.read(path, limit=LIMIT),
    "digest": lambda workspace, path: workspace.digest(path, limit=LIMIT),
    "replace": lambda workspace, path: workspace.replace(path, lambda content: content + b"more", limit=LIMIT),
    "overwrite": lambda workspace, path: _write(workspace, path, overwrite=True),
    "create": lambda workspace, path: _write(workspace, path, overwrite=False),
    "delete": lambda workspace, path: workspace.delete(path),
    "sweep": lambda workspace, path: workspace.sweep(path),
    "directory": _directory,
    "entries": lambda workspace, _: workspace.entries(limit=10_000),
}


def outcome(workspace: Workspace, operation: str, path: str) -> object:
    """What an operation gives, or the code of its error; never anything from outside."""
    try:
        given = OPERATIONS[operation](workspace, path)
    except WorkspaceError as error:
        return error.code
    assert given not in (SECRET, hashlib.sha256(SECRET).digest())
    assert "secret.txt" not in repr(given)
    return given
