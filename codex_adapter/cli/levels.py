"""Which levels of containment this machine really gives, learnt by starting an agent at each (C4)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from codex_adapter import BackendError
from codex_adapter.runtime.containment import LEVELS, Containment

__all__ = ["levels_given"]


async def levels_given(environ: Mapping[str, str]) -> list[str]:
    """The levels at which an agent can be held here, best first: each is tried with a small program (N1)."""
    levels: list[str] = []
    for level in LEVELS:
        with suppress(OSError, BackendError):
            levels.append(await Containment(allowed=(level,)).try_out(environ))
    return levels
