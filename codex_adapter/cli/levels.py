"""Find the levels of containment that this machine has (C4, N3)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from codex_adapter import BackendError
from codex_adapter.runtime.containment.containment import LEVELS, Containment

__all__ = ["FoundLevel", "find_levels"]


class FoundLevel(NamedTuple):
    """A level that this machine has, and whether it takes a user namespace to have it."""

    level: str
    in_user_namespace: bool


async def find_levels(environ: Mapping[str, str]) -> list[FoundLevel]:
    """Return the levels at which an agent can be held here, best first: each is tried with a small program (N1)."""
    levels: list[FoundLevel] = []
    for level in LEVELS:
        containment = Containment(allowed=(level,))
        with suppress(OSError, BackendError):
            levels.append(FoundLevel(await containment.try_out(environ), containment.in_user_namespace))
    return levels
