"""Remove unused copies of spaces, and the files that killed turns left in the store (Z10)."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from codex_adapter.own_directories import remove_tree
from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.state import TEMPORARY, State
from codex_adapter.spaces.version_locks import read_locked_digests

__all__ = ["KEPT_FOR", "MOST_REMOVED", "make_unused_name", "mark_used", "remove_unused"]

_DAY: Final = 24 * 60 * 60.0
KEPT_FOR: Final = 30 * _DAY
"""Seconds since the last turn that began with the copy."""
MOST_REMOVED: Final = 4
"""The limit of one call. It is more than one, so that the number of copies falls. It is low, so that no turn waits
long."""
_COPY: Final = re.compile(r"[0-9a-f]{64}")
_ASIDE: Final = re.compile(r"\.(new|old)(-[0-9a-f]+)?")


def make_unused_name(store: Path, kind: str) -> Path:
    """Return an unused name in the store for a directory that is not yet a copy (`new`) or no longer a copy (`old`)."""
    return store / f".{kind}-{secrets.token_hex(8)}"


def mark_used(copy: Path) -> bool:
    """Mark a copy as used by a turn that begins. Return whether another process may already be removing it (Z10).

    If a copy cannot be marked, for example in a read-only file system, no process can remove it either.
    """
    try:
        unused = time.time() - copy.lstat().st_mtime
        os.utime(copy, follow_symlinks=False)
    except OSError:
        return False
    return unused > KEPT_FOR - _DAY


def remove_unused(state: State) -> None:
    """Remove some files that no turn needs any more. Skip files that cannot be removed (Z10).

    The caller must be the only writer.
    """
    removed = 0
    for path in _find_unneeded(state):
        with suppress(OSError):
            remove_tree(path.rename(make_unused_name(state.store, "old")) if _COPY.fullmatch(path.name) else path)
            removed += 1
        if removed == MOST_REMOVED:
            return


def _find_unneeded(state: State) -> Iterator[Path]:
    """Yield the files that killed turns left, and the unused copies. Yield no copies while a lock cannot be read."""
    yield from _list_entries(state.root, TEMPORARY)
    yield from _list_entries(state.locks, TEMPORARY)
    yield from _list_entries(state.store, _ASIDE)
    unused = list(filter(_is_unused, _list_entries(state.store, _COPY)))
    try:
        named = read_locked_digests(state) if unused else frozenset()
    except SpaceError:
        return
    yield from (copy for copy in unused if copy.name not in named)


def _list_entries(directory: Path, names: re.Pattern[str]) -> list[Path]:
    try:
        return [path for path in directory.iterdir() if names.fullmatch(path.name)]
    except OSError:
        return []


def _is_unused(copy: Path) -> bool:
    try:
        return time.time() - copy.lstat().st_mtime > KEPT_FOR
    except OSError:
        return False
