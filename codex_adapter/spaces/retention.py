"""Remove copies of spaces that are no longer used, and what killed turns left in the store (Z10)."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from codex_adapter.durable import remove_tree
from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.state import TEMPORARY, State
from codex_adapter.spaces.version_locks import locked_digests

__all__ = ["KEPT_FOR", "MOST_REMOVED", "aside", "mark_used", "remove_unused"]

_DAY: Final = 24 * 60 * 60.0
KEPT_FOR: Final = 30 * _DAY
"""Seconds since the last turn that began with the copy."""
MOST_REMOVED: Final = 4
"""The limit of one call: more than one, so that their number falls, and few, so that no turn waits long."""
_COPY: Final = re.compile(r"[0-9a-f]{64}")
_ASIDE: Final = re.compile(r"\.(new|old)(-[0-9a-f]+)?")


def aside(store: Path, kind: str) -> Path:
    """Return an unused name in the store, for what is not a copy yet (`new`) or no longer (`old`)."""
    return store / f".{kind}-{secrets.token_hex(8)}"


def mark_used(copy: Path) -> bool:
    """Mark a copy as used by a turn that begins. Return whether another process may be removing it already (Z10).

    A copy that cannot be marked, as in a read-only file system, cannot be removed either.
    """
    try:
        unused = time.time() - copy.lstat().st_mtime
        os.utime(copy, follow_symlinks=False)
    except OSError:
        return False
    return unused > KEPT_FOR - _DAY


def remove_unused(state: State) -> None:
    """Remove some files that no turn needs any more; skip what cannot be removed (Z10).

    The caller must be the only writer.
    """
    removed = 0
    for path in _unneeded(state):
        with suppress(OSError):
            remove_tree(path.rename(aside(state.store, "old")) if _COPY.fullmatch(path.name) else path)
            removed += 1
        if removed == MOST_REMOVED:
            return


def _unneeded(state: State) -> Iterator[Path]:
    """Yield what killed turns left, and unused copies; no copies while it is unknown whether a lock names them."""
    yield from _entries(state.root, TEMPORARY)
    yield from _entries(state.locks, TEMPORARY)
    yield from _entries(state.store, _ASIDE)
    unused = list(filter(_is_unused, _entries(state.store, _COPY)))
    try:
        named = locked_digests(state) if unused else frozenset()
    except SpaceError:
        return
    yield from (copy for copy in unused if copy.name not in named)


def _entries(directory: Path, names: re.Pattern[str]) -> list[Path]:
    try:
        return [path for path in directory.iterdir() if names.fullmatch(path.name)]
    except OSError:
        return []


def _is_unused(copy: Path) -> bool:
    try:
        return time.time() - copy.lstat().st_mtime > KEPT_FOR
    except OSError:
        return False
