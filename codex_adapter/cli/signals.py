"""SIGINT, SIGTERM and SIGHUP: the first asks the run to end, the next one makes it hurry (E4)."""

from __future__ import annotations

import operator
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import trio

__all__ = ["StopSignals", "Stoppable", "held_back"]

_STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def held_back(*, for_good: bool) -> Iterator[list[signal.Signals]]:
    """Hold these signals back until somebody listens, so that none is lost while we start; gives those to listen for.

    A SIGHUP that is ignored stays so: that is what `nohup` is for. SIGCHLD must not be: no child could be waited for.
    One that comes when the work is done has nothing to stop, and is dropped. With `for_good` it is so to the end of the
    process, which must not die of a signal when it has said already how it ends.
    """
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    handlers = {number: signal.getsignal(number) for number in _STOPPING}
    wanted = [number for number in _STOPPING if number is not signal.SIGHUP or handlers[number] is not signal.SIG_IGN]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    try:
        yield wanted
    finally:
        if for_good:
            # Python would tell of a signal that it saw just before it was ignored.
            sys.unraisablehook = _say_nothing
        for number in wanted:
            # This drops those that are held back as well.
            signal.signal(number, signal.SIG_IGN)
            if not for_good:
                signal.signal(number, handlers[number] or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _say_nothing(_failure: object) -> None:
    """As `sys.unraisablehook`."""


class Stoppable(Protocol):
    """Work that can be asked to end."""

    def cancel(self) -> None:
        """End in order."""

    def kill(self) -> None:
        """End at once."""


class StopSignals:
    """What received signals mean for the work under way.

    `asked` is called with the first one, `hurry` for every other (E4).
    """

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
        """128 and the number of the first signal; None while there was none (E1)."""
        return None if self._first is None else 128 + self._first

    async def listen(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Receive signals until cancelled, those that were held back first."""
        read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        async with trio.lowlevel.FdStream(read_end) as arriving, trio.lowlevel.FdStream(write_end):
            signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
            for number in self._wanted:
                # Does nothing, and not in Python: handlers that interrupt one another without end would be our end.
                signal.signal(number, operator.is_)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._wanted)
            task_status.started()
            try:
                async for numbers in arriving:
                    # Every signal that has a handler is told here. What comes after the second changes nothing.
                    for received in filter(self._wanted.__contains__, numbers):
                        self._receive(received)
                        if self._hurried:
                            await trio.sleep_forever()
            finally:
                signal.pthread_sigmask(signal.SIG_BLOCK, self._wanted)
                signal.set_wakeup_fd(-1)

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Work that a signal breaks off, unless it has come to a run that is `governed`."""
        with trio.CancelScope() as self._scope:
            if self._first is not None:
                self._scope.cancel()
            yield

    @contextmanager
    def governing(self, run: Stoppable) -> Iterator[None]:
        """A run that a signal cancels, and a second one kills."""
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
