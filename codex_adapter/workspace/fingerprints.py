"""Whether a file is as it was: what a writer compares after a kill (H4)."""

from __future__ import annotations

from typing import Final

from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.files import Workspace

__all__ = ["fingerprint"]

_SOMETHING: Final = b"?"
"""In the place of a digest: there is something of which none can be taken."""


def fingerprint(workspace: Workspace, path: str, *, limit: int) -> bytes | None:
    """A file's SHA-256, None where there is nothing, and one mark for all of which no digest can be taken (H4, H7).

    Raises `WorkspaceError` for failures of the machine only.
    """
    try:
        digest = workspace.digest(path, limit=limit)
        # A link that leads nowhere is something, too.
        return _SOMETHING if digest is None and workspace.has(path) else digest
    except WorkspaceError as error:
        if error.system:
            raise
        return _SOMETHING
