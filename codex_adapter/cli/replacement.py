"""Replace a file atomically: a reader sees the old file or the new one, never a part (C10)."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from codex_adapter.durable import write_whole

__all__ = ["is_replaceable", "replace_file"]


def replace_file(path: str, content: bytes) -> Path:
    """Write a file through a temporary file beside it, and return its real path. Raise OSError.

    An existing file keeps its mode, and an existing link keeps its target. Only its owner can read a new file. A path
    that is not a regular file, such as a pipe, is written to directly.
    """
    target = Path(path).resolve()
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        target.write_bytes(content)
        return target
    # Not synced: the end of a run must not wait for a slow disk.
    write_whole(target, content, mode=0o600 if mode is None else stat.S_IMODE(mode), sync=False)
    return target


def is_replaceable(path: str) -> bool:
    """Return whether a path is a regular file, a character device, or a new name in a writable directory."""
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
