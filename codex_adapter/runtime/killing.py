"""Killing goes on until nothing is found any more, and is bounded in time (K4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

__all__ = ["kill_until_none_is_found"]

_ROUNDS: Final = 200
_ROUND_SECONDS: Final = 0.005


async def kill_until_none_is_found(kill: Callable[[], bool]) -> None:
    """Call `kill` until it finds nothing any more, at most for about a second."""
    for _ in range(_ROUNDS):
        if not kill():
            break
        await trio.sleep(_ROUND_SECONDS)
