"""Run the command line on a clock that is a hundred times slower than time: no limit of a run passes by itself.

The test says when time passes. SIGUSR2 moves the clock a day forward. With `SKIP` in the environment, the clock also
skips a day whenever a run begins to wait for its consumer, and the file of that name then exists.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unittest import mock

import trio
from trio.testing import MockClock

from codex_adapter.cli import main
from codex_adapter.runtime.clock import RunClock

__all__ = ["SLOW_CLOCK", "let_time_pass", "skipping_pauses"]

SLOW_CLOCK: Final = (sys.executable, str(Path(__file__)))
"""The program."""
_RATE: Final = 0.01
_DAY: Final = 86_400.0


def let_time_pass(process: subprocess.Popen[bytes]) -> None:
    """Move the clock of the program forward until it has ended."""
    deadline = time.monotonic() + 60
    while process.poll() is None:
        assert time.monotonic() < deadline
        process.send_signal(signal.SIGUSR2)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)


@contextlib.contextmanager
def skipping_pauses(clock: MockClock, told: Path) -> Iterator[None]:
    """Skip a day whenever a run begins to wait for its consumer; the file `told` then exists."""
    pause = RunClock.pause

    def skip(run_clock: RunClock) -> None:
        pause(run_clock)
        clock.jump(_DAY)
        told.touch()

    with mock.patch.object(RunClock, "pause", skip):
        yield


def _run(clock: MockClock) -> int:
    signal.signal(signal.SIGUSR2, lambda *_: clock.jump(_DAY))
    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch("trio.run", functools.partial(trio.run, clock=clock)))
        if "SKIP" in os.environ:
            patches.enter_context(skipping_pauses(clock, Path(os.environ["SKIP"])))
        try:
            return main()
        finally:  # at its end the interpreter would let the signal kill the process
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(_run(MockClock(rate=_RATE)))
