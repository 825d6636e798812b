"""Find the containment levels that work on this machine (C4, N3)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from codex_adapter import BackendError
from codex_adapter.runtime.containment.containment import LEVELS, Containment

__all__ = ["FoundLevel", "find_levels"]


class FoundLevel(NamedTuple):
    """A level that works on this machine, and whether it needs a user namespace."""

    level: str
    in_user_namespace: bool


async def find_levels(environ: Mapping[str, str]) -> list[FoundLevel]:
    """Return the levels that can contain an agent here, best first. Try each with a small program (N1)."""
    levels: list[FoundLevel] = []
    for level in LEVELS:
        containment = Containment(allowed=(level,))
        with suppress(OSError, BackendError):
            levels.append(FoundLevel(await containment.try_out(environ), containment.in_user_namespace))
    return levels
