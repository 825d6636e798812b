"""Read a pipe with one checkpoint for each read (D1, S7)."""

from __future__ import annotations

import os

import trio

__all__ = ["PipeReader"]


class PipeReader:
    """The reading end of a pipe, which this object owns.

    trio's own stream makes a checkpoint, then finds the pipe empty, then waits. For an agent that prints line by line,
    this is most of the cost of a read.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._emptied = False  # the last read returned fewer bytes than requested, so the pipe is probably empty

    async def receive_some(self, size: int) -> bytes:
        """Return the next bytes, at most `size`, after a checkpoint; empty at the end. Raise OSError."""
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
        """Return the bytes that can be read at once, at most `size`; empty without any. Raise OSError."""
        try:
            return os.read(self._fd, size) if self._fd >= 0 else b""
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """Close the pipe. A waiting reader receives the end. It may be called again."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            trio.lowlevel.notify_closing(fd)
            os.close(fd)
