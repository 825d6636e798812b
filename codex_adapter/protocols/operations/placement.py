"""Check whether an agent could replace its own policy or state file (A1, O9)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["is_within_reach"]

MOST_LINKS = 40
"""The limit of symbolic links that Linux follows on one path."""


def is_within_reach(path: str | os.PathLike[str], root: str | os.PathLike[str]) -> bool:
    """Return whether a file, or a link on its path, is below `root`, where an agent can write (A1, O9)."""
    place = os.path.realpath(root)
    # The root itself can only be replaced in the directory above it, so a path may lead through it.
    return any(step != place and Path(step).is_relative_to(place) for step in _steps(str(Path.cwd() / path)))


def _steps(path: str) -> Iterator[str]:
    """Yield each file, directory and link on a path, with all links before it resolved."""
    pending, place, links = path.split("/"), "/", 0
    while pending:
        name = pending.pop(0)
        step = os.path.normpath(os.path.join(place, name))  # noqa: PTH118 - `..` is resolved from a real directory
        yield step
        if links < MOST_LINKS and os.path.islink(step):  # noqa: PTH114
            links += 1
            pending = [*os.readlink(step).split("/"), *pending]  # noqa: PTH115
            place = "/" if not pending[0] else place
        else:
            place = step
