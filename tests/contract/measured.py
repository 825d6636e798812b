"""Measure the peak memory of a command."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..cli.command import ADAPTER, Cli, Done

__all__ = ["PATIENCE", "Measured", "living", "measured"]

PATIENCE: Final = 60.0
"""Seconds after which a command counts as hanging, on a machine with other things to do."""

# The peak memory that the system tells of a child counts what its parent had when it was started: a small parent.
_LAUNCHER: Final = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
os.write(int(sys.argv[1]), b"%d" % usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Measured(NamedTuple):
    """What a command left behind, its records decoded.

    `peak_mib` is the most memory that it had, or anything that it waited for.
    """

    done: Done
    events: list[dict[str, Any]]
    completion: dict[str, Any]
    peak_mib: float
    seconds: float

    @property
    def complaints(self) -> list[str]:
        """The errors that the adapter itself has found."""
        return [event["message"] for event in self.events if event["kind"] == "error" and "data" not in event]

    @property
    def texts(self) -> list[str]:
        """What the agent has said, piece by piece."""
        return [event["text"] for event in self.events if event["kind"] == "text_output"]


def measured(cli: Cli, *words: str, stdin: bytes = b"") -> Measured:
    """Carry out a command; one that hangs is killed, and fails the test."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as usage, tempfile.TemporaryFile() as prompt:
        prompt.write(stdin)
        prompt.seek(0)
        process = cli.start(
            *words,
            program=(sys.executable, "-I", "-S", "-c", _LAUNCHER, str(usage.fileno()), *ADAPTER),
            stdin=prompt,
            pass_fds=[usage.fileno()],
            start_new_session=True,
        )
        with process:
            try:
                stdout, stderr = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        seconds = time.monotonic() - began
        usage.seek(0)
        peak = int(usage.read()) / 1024
    done = Done(process.returncode, stdout, stderr.decode())
    *events, completion = done.records
    assert {event["type"] for event in events} <= {"event"}
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert (completion["type"], completion["seq"]) == ("completion", len(events))
    return Measured(done, events, completion, peak, seconds)


def living(directory: Path) -> list[str]:
    """The pids of processes whose home is below the directory."""
    found: list[str] = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"HOME={directory}/".encode() in environment.read_bytes():
                found.append(environment.parent.name)
    return found
