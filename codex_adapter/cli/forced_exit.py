"""End the process after a signal, although a file system does not answer (E6).

A thread that waits for such a file system receives no signal and runs no Python code. So another thread checks whether
a signal stays pending. After the first signal it also checks whether the event loop and its threads make progress.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import trio

from codex_adapter.file_systems import longest_work

__all__ = ["end_when_held_up", "watch_pending_signals"]

_PATIENCE: Final = 5.0
_PAUSE: Final = 0.1
_SFD_NONBLOCK_CLOEXEC: Final = 0o2004000
_SIGSET_BYTES: Final = 128


def watch_pending_signals(wanted: Sequence[signal.Signals]) -> None:
    """Exit when one of these signals stays pending too long, until the end of the process (E6)."""
    mask = sum(1 << number - 1 for number in wanted).to_bytes(_SIGSET_BYTES, "little")
    # Unlike `sigwait`, a signalfd that is only polled consumes no signal: its handler can still receive it.
    with suppress(AttributeError):
        fd = ctypes.CDLL(None).signalfd(-1, mask, _SFD_NONBLOCK_CLOEXEC)
        if fd >= 0:
            _start(_watch, fd, frozenset(wanted))


def end_when_held_up(number: int) -> None:
    """Exit when the work in this event loop is blocked after signal `number` asked it to end (E6)."""
    _start(_see_it_end, number, trio.lowlevel.current_trio_token())


def _start(work: object, *args: object) -> None:
    with suppress(RuntimeError):  # no thread can be started
        threading.Thread(target=work, args=args, daemon=True).start()  # type: ignore[arg-type]


def _watch(fd: int, wanted: frozenset[signal.Signals]) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while True:
        poll.poll()
        deadline = time.monotonic() + _PATIENCE
        while pending := signal.sigpending() & wanted:
            if time.monotonic() > deadline:
                os._exit(128 + min(pending))
            time.sleep(_PAUSE)


def _see_it_end(number: int, loop: trio.lowlevel.TrioToken) -> None:
    asked = time.monotonic()
    while min(longest_work(), time.monotonic() - asked) < _PATIENCE:
        turned = threading.Event()
        with suppress(trio.RunFinishedError):
            loop.run_sync_soon(turned.set)
        if not turned.wait(_PATIENCE):
            break
        time.sleep(_PAUSE)
    os._exit(128 + number)
