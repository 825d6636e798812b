"""Reading a pipe at one checkpoint for each read (D1, S7)."""

from __future__ import annotations

import os

import trio

__all__ = ["PipeReader"]


class PipeReader:
    """The reading end of a pipe, its own from now on.

    What trio has for it makes a checkpoint, then finds the pipe empty, then waits: for an agent that prints line by
    line, that is the most of what a read costs.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._emptied = False  # by the last read, as far as can be told: it gave less than was asked for

    async def receive_some(self, size: int) -> bytes:
        """The next bytes, at most `size`; empty at the end or once closed. Raises OSError. Always a checkpoint."""
        waits = self._emptied
        try:
            while True:
                if waits:
                    await trio.lowlevel.wait_readable(self._fd)
                else:
                    await trio.lowlevel.checkpoint()
                if self._fd < 0:
                    return b""
                try:
                    data = os.read(self._fd, size)
                except BlockingIOError:
                    waits = True
                else:
                    self._emptied = len(data) < size
                    return data
        except trio.ClosedResourceError:
            return b""

    def receive_now(self, size: int) -> bytes:
        """What there is to be read at once, at most `size`; empty when there is none. Raises OSError."""
        try:
            return os.read(self._fd, size) if self._fd >= 0 else b""
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """Close it; whoever waits for it is given the end. May be called again."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            trio.lowlevel.notify_closing(fd)
            os.close(fd)
