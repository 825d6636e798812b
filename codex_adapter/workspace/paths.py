"""Split and check the paths that an agent writes, and name temporary files (H2, H4)."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final

from codex_adapter.workspace.errors import WorkspaceError

__all__ = ["DEEPEST", "is_temporary", "make_temporary_name", "make_temporary_prefix", "split_file_path", "split_path"]

LONGEST_NAME: Final = 255
LONGEST_PATH: Final = 4095
DEEPEST: Final = 128
"""The limit of nested directories. Each directory of a path is an open descriptor during a walk."""
TEMPORARY: Final = re.compile(rb"\.codex-adapter-[0-9a-f]{16}-[0-9a-f]{16}")


def split_path(path: str) -> tuple[str, ...]:
    """Return the names in a path. Two paths with the same names lead to the same file (H2).

    Does not read the file system. Raises `WorkspaceError` (`bad_name`).
    """
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        raise WorkspaceError("bad_name", "Path is not valid Unicode text") from None
    if "\0" in path:
        raise WorkspaceError("bad_name", "Path must not contain NUL")
    if path.startswith("/"):
        raise WorkspaceError("bad_name", "Path must be relative to the workspace. Leave out the leading /.")
    if len(encoded) > LONGEST_PATH:
        raise WorkspaceError("bad_name", f"Path is longer than {LONGEST_PATH} bytes. Use shorter names.")
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    for name in names:
        if name == "..":
            raise WorkspaceError("bad_name", "Path must not contain '..'. Write it from the root of the workspace.")
        if len(name) * 4 > LONGEST_NAME and len(name.encode()) > LONGEST_NAME:
            raise WorkspaceError(
                "bad_name", f"A name in the path is longer than {LONGEST_NAME} bytes. Use a shorter one."
            )
        if is_temporary(name.encode()):
            raise WorkspaceError("bad_name", "A name in the path is reserved for temporary files. Use another one.")
    return names


def split_file_path(path: str) -> tuple[str, ...]:
    """Return the names in the path of a file. Raises `WorkspaceError` (`bad_name`) for the path of a directory (H2)."""
    names = split_path(path)
    if not names or path.endswith(("/", "/.")):
        raise WorkspaceError("bad_name", "Path must end with the name of a file")
    return names


def make_temporary_prefix(name: bytes) -> bytes:
    """Return the prefix of temporary files for a file of this name (H4)."""
    return b".codex-adapter-%s-" % hashlib.sha256(name).hexdigest()[:16].encode()


def make_temporary_name(name: bytes) -> bytes:
    """Return a new name for a temporary file (H4)."""
    return make_temporary_prefix(name) + secrets.token_hex(8).encode()


def is_temporary(name: bytes) -> bool:
    """Return whether a temporary file could have this name (H4)."""
    return TEMPORARY.fullmatch(name) is not None
