"""Write standard output: whole lines, at the speed of the reader, while a reader exists (W3, E2, E3)."""

from __future__ import annotations

import errno
import math
import os
import select
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

import trio

__all__ = ["Output", "standard_output"]

_READER_LEFT: Final = frozenset({errno.EPIPE, errno.EBADF, errno.ECONNRESET})
_LAST_PATIENCE: Final = 1.0
_LONGEST_WAIT: Final = 3.0


class Output:
    """Standard output while a command runs.

    A write waits for the reader without a limit, until `limit_waits` or `hurry` sets one. After a failed write nothing
    is written: with a gap, the records would not be a stream.
    """

    def __init__(self, fd: int, *, is_terminal: bool, step: int | None, is_file: bool) -> None:
        self._fd = fd
        self._step = step
        self._is_file = is_file
        self._torn = 0  # bytes of a line that is not written to its end
        self._open = fd >= 0
        self._deadline = math.inf
        self._longest_wait = math.inf
        self._patience = trio.CancelScope()
        self.is_terminal = is_terminal
        self.failure: int | None = None
        """The errno of the write that lost records; None if all were written, or the reader left (E2)."""
        self.gave_up = False
        """Whether records were lost because the reader read nothing for too long (E4)."""

    @property
    def fd(self) -> int:
        """The descriptor, to query the terminal."""
        return self._fd

    async def write(self, data: bytes) -> bool:
        """Write whole lines. Return False if the reader left or a write failed (E2)."""
        written = 0
        try:
            while self._open and written < len(data):
                written += await self._write_some(data, written)
        except OSError as error:
            self._open = False
            if error.errno not in _READER_LEFT and not (self.is_terminal and error.errno == errno.EIO):
                self.failure = error.errno
                self._take_back()
        return self._open

    def write_now(self, data: bytes) -> int:
        """Write as many bytes as fit without waiting, and return their number. The rest must be written next."""
        if self._step is not None or not self._open:
            return 0
        try:
            return self._write_bytes(data)
        except OSError:
            return 0  # `write` handles the error

    def limit_waits(self) -> None:
        """Give up, from now on, on a reader that reads nothing for a few seconds (E4)."""
        self._longest_wait = _LONGEST_WAIT
        self._patience.deadline = min(self._patience.deadline, trio.current_time() + _LONGEST_WAIT)

    def hurry(self) -> None:
        """Wait for the reader, from now on, for one second at most."""
        self._deadline = min(self._deadline, trio.current_time() + _LAST_PATIENCE)
        self._patience.deadline = self._deadline

    async def wait_reader_closed(self) -> None:
        """Return when the reader closes it. Never return for a file, which shows this only on a write."""
        if not self._open:
            return
        with select.epoll() as watched:
            try:
                watched.register(self._fd, 0)  # errors and hang-ups are always reported
            except OSError:
                await trio.sleep_forever()
            await trio.lowlevel.wait_readable(watched.fileno())

    async def _write_some(self, data: bytes, start: int) -> int:
        if self._step is not None:
            await self._until_writable()
            data, start = data[start : start + self._step] if self._open else b"", 0
        try:
            return self._write_bytes(memoryview(data)[start:])
        except BlockingIOError:
            await self._until_writable()
            return 0

    async def _until_writable(self) -> None:
        deadline = min(self._deadline, trio.current_time() + self._longest_wait)
        with trio.CancelScope(shield=True, deadline=deadline) as self._patience:
            await trio.lowlevel.wait_writable(self._fd)
        if self._patience.cancelled_caught:
            self._open = False
            self.gave_up = True

    def _write_bytes(self, data: bytes | memoryview) -> int:
        size = os.write(self._fd, data)
        whole = size == len(data)  # data ends with a newline
        self._torn = 0 if whole else self._count_torn(bytes(data[:size]))
        return size

    def _count_torn(self, part: bytes) -> int:
        newline = part.rfind(b"\n")
        return self._torn + len(part) if newline < 0 else len(part) - newline - 1

    def _take_back(self) -> None:
        """Remove the part of a line that a full disk left at the end of a file (W3)."""
        if not self._is_file or not self._torn:
            return
        with suppress(OSError):
            end = os.lseek(self._fd, 0, os.SEEK_CUR)
            if end == os.fstat(self._fd).st_size:
                os.ftruncate(self._fd, end - self._torn)
                os.lseek(self._fd, end - self._torn, os.SEEK_SET)


@contextmanager
def standard_output() -> Iterator[Output]:
    """Take over standard output. In this block, other prints to it go to standard error (C7)."""
    if sys.stdout is None:
        yield Output(-1, is_terminal=False, step=None, is_file=False)
        return
    sys.stdout.flush()
    with ExitStack() as undo:
        kept = os.dup(1)
        undo.callback(os.close, kept)
        output = _reopen(kept, undo)
        os.dup2(2, 1)
        undo.callback(os.dup2, kept, 1)
        yield output


def _reopen(fd: int, undo: ExitStack) -> Output:
    """Return standard output that never blocks the event loop, unchanged for other processes that share it.

    O_NONBLOCK belongs to the open file description. A shell or another child of the supervisor can share it. A pipe or
    a terminal can be opened again through /proc, with a description of its own. Otherwise, each write waits until the
    descriptor is writable, and writes no more than always fits. Writes to files do not wait.
    """
    mode = os.fstat(fd).st_mode
    terminal = os.isatty(fd)
    if stat.S_ISFIFO(mode) or terminal:
        with suppress(OSError):
            own = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            undo.callback(os.close, own)
            return Output(own, is_terminal=terminal, step=None, is_file=False)
    file = stat.S_ISREG(mode)
    waits = terminal or not (file or stat.S_ISCHR(mode) or stat.S_ISBLK(mode))
    return Output(fd, is_terminal=terminal, step=select.PIPE_BUF if waits else None, is_file=file)
