"""Count work where a test must show that it is bounded: a count is the same on each machine, a time is not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

__all__ = ["calls"]


def calls(function: Callable[[], object]) -> int:
    """Return how many functions are called meanwhile and return, those of C too: two for each call."""
    number = 0

    def count(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal number
        number += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return number
