"""Measure the memory of a daemon, and how often it wakes."""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import Final

from .supervisor import Supervisor

__all__ = ["MIB", "nothing_for", "peak", "wakings"]

MIB: Final = 1024 * 1024


def peak(pid: int) -> int:
    """The most memory that a process has had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def wakings(pid: int) -> int:
    """How often the threads of a process have begun to wait for something."""
    texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) for text in texts)


def nothing_for(daemon: Supervisor, seconds: float) -> None:
    """Let this time pass, in which the daemon must live and nobody reads."""
    alive = os.pidfd_open(daemon.pid)
    try:
        assert select.select([alive], [], [], seconds) == ([], [], [])
    finally:
        os.close(alive)
