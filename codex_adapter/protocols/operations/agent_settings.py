"""The agent's own settings in the workspace: a run obeys them, so its operations must not have made them (O15).

In a project that the user trusts, the CLI takes from `.codex` what it starts outside of every sandbox and policy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final, TypeAlias

__all__ = ["CHANGED", "AgentSettings"]

CHANGED: Final = "the workspace's .codex has changed, by which the agent would be run; look at it, and begin again"
_DIRECTORY: Final = ".codex"
_MOST: Final = 10_000
_Seen: TypeAlias = list[tuple[str, int, int, int]]


class AgentSettings:
    """`.codex` of a workspace, as it was when this was made; no content is read."""

    def __init__(self, workspace: str) -> None:
        self._path = os.path.join(workspace, _DIRECTORY)  # noqa: PTH118 - a string, whatever it holds
        self._before = self._look()

    def changed(self) -> bool:
        """Whether anything of it was made, changed or removed, or there is too much of it to say."""
        now = self._look()
        return now != self._before or len(now) > _MOST

    def _look(self) -> _Seen:
        return sorted(islice(_entries(self._path), _MOST + 1))


def _entries(root: str) -> Iterator[tuple[str, int, int, int]]:
    """What is at a path and below it, with what the system changes whenever somebody changes that; links followed."""
    paths = [root]
    while paths:
        path = paths.pop()
        for follow in (False, True):
            with suppress(OSError):
                found = os.stat(path, follow_symlinks=follow)  # noqa: PTH116 - as above
                yield path, found.st_dev, found.st_ino, found.st_ctime_ns
        with suppress(OSError):
            paths += [f"{path}/{name}" for name in os.listdir(path)]  # noqa: PTH208 - as above
