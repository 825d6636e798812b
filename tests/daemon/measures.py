"""Measure the memory and processor time of a daemon."""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import Final

from .supervisor import Supervisor

__all__ = ["MIB", "cpu_seconds", "nothing_for", "peak"]

MIB: Final = 1024 * 1024


def peak(pid: int) -> int:
    """The most memory that a process has had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def cpu_seconds(pid: int) -> float:
    """The time that a process has taken of the processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def nothing_for(daemon: Supervisor, seconds: float) -> None:
    """Let this time pass, in which the daemon must live and nobody reads."""
    alive = os.pidfd_open(daemon.pid)
    try:
        assert select.select([alive], [], [], seconds) == ([], [], [])
    finally:
        os.close(alive)
