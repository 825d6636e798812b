"""Removing a directory, whatever was put into it and whatever bits it has (Z10)."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["remove"]

_NAME_BYTES: Final = 8


def remove(path: Path) -> None:
    """Remove a file, a link, or a directory with all in it; nothing is there afterwards, nor was it wrong before.

    Directories are moved up to the first before they are emptied, so that none is too deep for paths or the stack, and
    who is killed leaves what another call removes. Raises OSError.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    waiting = [path]
    while waiting:
        directory = waiting.pop()
        directory.chmod(0o700)
        with os.scandir(directory) as found:
            entries = list(found)
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                Path(entry).unlink()
            elif directory == path:
                waiting.append(Path(entry))
            else:
                waiting.append(_moved(Path(entry), path))
        if directory != path:
            directory.rmdir()
    with suppress(FileNotFoundError):
        path.rmdir()


def _moved(directory: Path, top: Path) -> Path:
    directory.chmod(0o700)  # without it '..' cannot be changed
    return directory.rename(top / secrets.token_hex(_NAME_BYTES))
