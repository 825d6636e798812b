"""A file put in place whole: who looks sees the old one or the new one, never a part (C10)."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["is_replaceable", "replace_file"]


def replace_file(path: str, content: bytes) -> Path:
    """Write a file by way of a temporary one beside it, and give its real path. Raises OSError.

    A file that is there keeps its mode, and a link goes on pointing where it does; a new file is for its owner only.
    What is no file, such as a pipe, is written to.
    """
    target = Path(path).resolve()
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        target.write_bytes(content)
        return target
    fd, temporary = tempfile.mkstemp(prefix=".codex-adapter-", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            if mode is not None:
                os.fchmod(fd, stat.S_IMODE(mode))
        Path(temporary).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
    return target


def is_replaceable(path: str) -> bool:
    """Return whether a path names a regular file, a character device, or nothing in a directory that may be written."""
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        with suppress(OSError, RuntimeError):
            return os.access(Path(path).resolve().parent, os.W_OK | os.X_OK)
        return False
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISCHR(mode)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
