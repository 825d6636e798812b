"""Wait for a condition without a sleep."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from ..cli.command import SOON

__all__ = ["state", "until"]


def until(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline
        os.sched_yield()


def state(pid: int) -> str:
    """What a process does: S for sleeping, T for stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
