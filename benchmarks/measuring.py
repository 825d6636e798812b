"""Measure the CPU seconds of this process or of a tree of processes, and the peak memory of the tree."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec

__all__ = ["CUT_OFF", "CpuSeconds", "Face", "Measured", "Usage", "Work", "agent", "cpu_seconds", "run_measured"]

CUT_OFF: Final = 1
"""The exit status of `run` and `replay` over a stream that ends during a turn (E1)."""


class Work(msgspec.Struct, frozen=True):
    """What is measured with: a stream in a file, and whether the events are to be checked instead of timed."""

    path: Path
    lines: int
    check: bool = False


class Measured(msgspec.Struct, frozen=True):
    """One measurement: CPU seconds, peak memory (of processes of their own only), and what came out.

    `checksum` is of the event records, None where none were made. `failure` says why it gave up before the end.
    """

    seconds: float
    events: int | None = None
    checksum: int | None = None
    peak_mib: float = 0.0
    failure: str = ""


Face = Callable[[Work], Measured]
"""Anything that can be measured."""


class CpuSeconds:
    """CPU seconds of a block, once it is over."""

    total: float = 0.0


@contextmanager
def cpu_seconds() -> Iterator[CpuSeconds]:
    """CPU seconds, user and system, of this process and of the children that it waited for within the block."""
    result = CpuSeconds()
    before = _spent()
    yield result
    result.total = _spent() - before


def _spent() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Usage(msgspec.Struct, frozen=True):
    """What a tree of processes has used: CPU seconds of all of it, MiB of the largest of it, its exit status."""

    seconds: float
    peak_mib: float
    status: int


# The peak memory that the system tells of a child counts what its parent had when it was started: a small parent.
_LAUNCHER: Final = """
import os, sys
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
os.write(int(sys.argv[1]), b"%f %d" % (usage.ru_utime + usage.ru_stime, usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""


def run_measured(
    words: Sequence[str],
    environment: Mapping[str, str],
    take: Callable[[IO[bytes]], None],
    *,
    stdin: bytes = b"",
    quiet: bool = False,
) -> Usage:
    """Run a command; `take` reads its standard output, at no cost to the command. Its stderr is shown, or not."""
    with tempfile.TemporaryFile() as usage, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(usage.fileno()), *words],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            env=environment,
            pass_fds=[usage.fileno()],
        ) as process:
            assert process.stdout is not None
            take(process.stdout)
        usage.seek(0)
        seconds, kib = map(float, usage.read().split())
    return Usage(seconds, kib / 1024, process.returncode)


def agent(path: Path) -> str:
    """An agent that reads its prompt to the end and prints the stream, at the least cost: who runs it is charged."""
    program = path.with_suffix(".agent")
    if not program.exists():
        program.write_text(f"#!/bin/sh\nread -r _\nexec cat {path}\n")
        program.chmod(0o755)
    return str(program)
