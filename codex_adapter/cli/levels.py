"""Which levels of containment this machine really gives, learnt by starting an agent at each (C4)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

import trio

from codex_adapter import BackendError
from codex_adapter.runtime.containment import LEVELS, Containment
from codex_adapter.runtime.marks import new_mark

__all__ = ["levels_given"]


async def levels_given(environ: Mapping[str, str]) -> list[str]:
    """The levels at which an agent can be held here, best first: each is tried with a small program (N1)."""
    levels: list[str] = []
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        for level in LEVELS:
            with suppress(OSError, BackendError):
                contained = await Containment(allowed=(level,)).start(
                    ["/bin/sh", "-c", ":"], env=environ, cwd="/", pipes=(nothing,) * 3, mark=new_mark()
                )
                try:
                    await contained.wait()
                    levels.append(level)
                finally:
                    with trio.CancelScope(shield=True):
                        await contained.aclose()
    finally:
        os.close(nothing)
    return levels
