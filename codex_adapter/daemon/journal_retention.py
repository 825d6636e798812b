"""Remove the journals of runs that ended long ago (J20)."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Container
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from codex_adapter.durable import is_locked

__all__ = ["remove_older"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\.jsonl")
_LONGEST: Final = 1024 * 1024
"""The limit of a first line in bytes. A request is shorter."""


class _FirstLine(msgspec.Struct, frozen=True, tag_field="type", tag="run"):
    """The members of a first line that identify a journal."""

    time: str
    run_id: str


def remove_older(directory: Path, oldest: float, live: Container[Path]) -> int:
    """Remove the journals whose last write was before `oldest`, in seconds since 1970. Return their number. (J20)

    An empty file is the journal of a run that never started. Keep a journal that is in `live` or whose writer is
    alive. Keep a file that does not begin as a journal or cannot be removed. Raise OSError if the directory cannot be
    read.
    """
    removed = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if _NAME.fullmatch(entry.name) and directory / entry.name not in live:
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) and status.st_mtime < oldest:
                        removed += _remove(entry.path)
    return removed


def _remove(path: str) -> bool:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        # A writer locks the file before its first byte.
        if is_locked(fd):
            return False
        begin = os.pread(fd, _LONGEST, 0)
        if begin and not _is_of(Path(path).stem, begin.partition(b"\n")[0]):
            return False
        os.unlink(path)  # noqa: PTH108 - a string from os.scandir
    finally:
        os.close(fd)
    return True


def _is_of(run_id: str, line: bytes) -> bool:
    """Return whether a line is the first one of the journal of this run."""
    try:
        return msgspec.json.decode(line, type=_FirstLine).run_id == run_id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
