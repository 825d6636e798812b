"""Handle SIGINT, SIGTERM and SIGHUP: the first cancels the run, the second kills it (E4)."""

from __future__ import annotations

import operator
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import trio

__all__ = ["StopSignals", "Stoppable", "stop_signals_blocked"]

_STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stop_signals_blocked(*, to_the_end: bool) -> Iterator[list[signal.Signals]]:
    """Block the stop signals until `StopSignals` listens, so that none is lost at the start. Yield these signals.

    An ignored SIGHUP stays ignored, as `nohup` needs it. SIGCHLD must not be ignored, because no child could be waited
    for. A signal after the end of the block has nothing to stop, and is dropped. With `to_the_end`, signals are dropped
    until the process ends: it must not die of a signal after it reported another end.
    """
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    handlers = {number: signal.getsignal(number) for number in _STOPPING}
    wanted = [number for number in _STOPPING if number is not signal.SIGHUP or handlers[number] is not signal.SIG_IGN]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    try:
        yield wanted
    finally:
        if to_the_end:
            # Python would report a signal that it received just before it was ignored.
            sys.unraisablehook = _ignore
        for number in wanted:
            # This drops pending signals, too.
            signal.signal(number, signal.SIG_IGN)
            if not to_the_end:
                signal.signal(number, handlers[number] or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ignore(_failure: object) -> None:
    """Do nothing; a `sys.unraisablehook`."""


class Stoppable(Protocol):
    """Work that can be cancelled and killed."""

    def cancel(self) -> None:
        """Ask the work to end in order."""

    def kill(self) -> None:
        """End the work at once."""


class StopSignals:
    """The stop signals of a command. `asked` is called with the first signal, `hurry` for each later one (E4)."""

    def __init__(
        self, wanted: list[signal.Signals], hurry: Callable[[], None], *, asked: Callable[[int], None]
    ) -> None:
        self._wanted = wanted
        self._hurry = hurry
        self._asked = asked
        self._first: int | None = None
        self._hurried = False
        self._run: Stoppable | None = None
        self._scope = trio.CancelScope()

    @property
    def exit_status(self) -> int | None:
        """128 plus the number of the first signal; None before it (E1)."""
        return None if self._first is None else 128 + self._first

    async def listen(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Receive signals until cancelled, pending signals first."""
        read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        async with trio.lowlevel.FdStream(read_end) as arriving, trio.lowlevel.FdStream(write_end):
            signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
            for number in self._wanted:
                # Do nothing, and not in Python code: handlers that interrupt each other endlessly would end us.
                signal.signal(number, operator.is_)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._wanted)
            task_status.started()
            try:
                async for numbers in arriving:
                    # The file descriptor receives every signal that has a handler. A third signal changes nothing.
                    for received in filter(self._wanted.__contains__, numbers):
                        self._receive(received)
                        if self._hurried:
                            await trio.sleep_forever()
            finally:
                signal.pthread_sigmask(signal.SIG_BLOCK, self._wanted)
                signal.set_wakeup_fd(-1)

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Cancel the work in this block on a signal, unless a `governing` block is active."""
        with trio.CancelScope() as self._scope:
            if self._first is not None:
                self._scope.cancel()
            yield

    @contextmanager
    def governing(self, run: Stoppable) -> Iterator[None]:
        """Cancel a run on the first signal in this block, and kill it on the second."""
        self._run = run
        try:
            yield
        finally:
            self._run = None

    def _receive(self, number: int) -> None:
        again = self._hurried = self._first is not None
        if self._first is None:
            self._first = number
            self._asked(number)
        if self._run is None:
            self._scope.cancel()
        elif again:
            self._run.kill()
        else:
            self._run.cancel()
        if again:
            self._hurry()
