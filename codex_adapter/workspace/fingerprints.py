"""Compute fingerprints of files, which a writer compares after a kill (H4)."""

from __future__ import annotations

from typing import Final

from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.files import Workspace

__all__ = ["fingerprint"]

_SOMETHING: Final = b"?"
"""The fingerprint of a file that exists but has no digest."""


def fingerprint(workspace: Workspace, path: str, *, limit: int) -> bytes | None:
    """Return a file's SHA-256, None if the name does not exist, and `?` if it exists but has no digest (H4, H7).

    Raises `WorkspaceError` only if the machine failed.
    """
    try:
        digest = workspace.digest(path, limit=limit)
        # A dangling link exists too.
        return _SOMETHING if digest is None and workspace.has(path) else digest
    except WorkspaceError as error:
        if error.system:
            raise
        return _SOMETHING
