"""SIGINT, SIGTERM and SIGHUP: the first asks the run to end, the next one makes it hurry (E4)."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import trio

from codex_adapter import RunHandle

__all__ = ["StopSignals", "held_back"]

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
    wanted = [
        number for number in _STOPPING if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    if for_good:
        # What is blocked here is not so in the threads that trio keeps, and whoever listens leaves what was before.
        for number in wanted:
            signal.signal(number, _drop)
    try:
        yield wanted
    finally:
        while signal.sigtimedwait(wanted, 0) is not None:
            pass
        if for_good:
            for number in wanted:
                signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _drop(_number: int, _frame: object) -> None:
    """Do nothing; unlike an ignored signal, one that is held back meanwhile stays."""


class StopSignals:
    """What received signals mean for the work under way; `hurry` is called for every one but the first (E4)."""

    def __init__(self, wanted: list[signal.Signals], hurry: Callable[[], None]) -> None:
        self._wanted = wanted
        self._hurry = hurry
        self._first: int | None = None
        self._run: RunHandle | None = None
        self._scope = trio.CancelScope()

    @property
    def exit_status(self) -> int | None:
        """128 and the number of the first signal; None while there was none (E1)."""
        return None if self._first is None else 128 + self._first

    async def listen(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Receive signals until cancelled, those that were held back first."""
        with trio.open_signal_receiver(*self._wanted) as arriving:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._wanted)
            task_status.started()
            try:
                async for number in arriving:
                    self._receive(number)
            finally:
                signal.pthread_sigmask(signal.SIG_BLOCK, self._wanted)

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Work that a signal breaks off, unless it has come to a run that is `governed`."""
        with trio.CancelScope() as self._scope:
            if self._first is not None:
                self._scope.cancel()
            yield

    @contextmanager
    def governing(self, run: RunHandle) -> Iterator[None]:
        """A run that a signal cancels, and a second one kills."""
        self._run = run
        try:
            yield
        finally:
            self._run = None

    def _receive(self, number: int) -> None:
        again = self._first is not None
        if self._first is None:
            self._first = number
        if self._run is None:
            self._scope.cancel()
        elif again:
            self._run.kill()
        else:
            self._run.cancel()
        if again:
            self._hurry()
