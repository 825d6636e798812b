"""Wait for what a process does.

No verdict of a test depends on the length of a pause: a test waits for a condition, and the limit is one that no busy
machine reaches. Between two looks the test sleeps, so that the process for which it waits gets the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["SOON", "became", "state", "until"]

SOON: Final = 100.0
"""Seconds within which anything happens that a test waits for, on a busy machine too."""
_BETWEEN_LOOKS: Final = 0.005


def became(condition: Callable[[], object], within: float = SOON) -> bool:
    """Wait until something is so, for at most `within` seconds, and return whether it is."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_BETWEEN_LOOKS)
    return True


def until(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    assert became(condition), f"not so within {SOON} s"


def state(pid: int) -> str:
    """What a process does: S for sleeping, T for stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
