"""Replay a recorded JSON Lines stream as a `Source`, without agent, network or configuration (Y1, Y2)."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Callable
from typing import Final

import trio

from codex_adapter.errors import BackendError, InvalidRequestError
from codex_adapter.events import ExitStatus

__all__ = ["ReplaySource", "open_recording"]

READ_SIZE: Final = 65_536


def open_recording(
    recording: str | os.PathLike[str] | int, *, exit_status: ExitStatus, interval: float
) -> ReplaySource:
    """Open a recording: a path, or a descriptor that the caller keeps. Raise `InvalidRequestError`."""
    try:
        if isinstance(recording, int):
            fd = os.dup(recording)
        else:
            # Open without waiting: the writer of a FIFO may start later; then the read waits for it.
            fd = os.open(recording, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        mode = os.fstat(fd).st_mode
    except (OSError, ValueError) as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise InvalidRequestError(f"The recording {reason}. Pass the path of a JSON Lines file.") from None
    if stat.S_ISDIR(mode):
        os.close(fd)
        raise InvalidRequestError("The recording is a directory. Pass the path of a JSON Lines file.")
    return ReplaySource(fd, waits=not stat.S_ISREG(mode), exit_status=exit_status, interval=interval)


class ReplaySource:
    """A source of a descriptor's bytes as they arrive, or of one line after each `interval` in seconds.

    `waits` is True for anything but a file on a disk: a read may have to wait for the writer.
    """

    def __init__(self, fd: int, *, waits: bool, exit_status: ExitStatus, interval: float) -> None:
        self._fd = fd
        self._waits = waits and _can_be_waited_for(fd)
        self._status = exit_status
        self._interval = interval
        self._ahead = bytearray()  # was read, but its interval has not passed
        self._at_end = False
        self._ended = trio.Event()

    def send(self, data: bytes) -> None:
        """Send nothing: a recorded agent reads nothing."""

    def close_input(self) -> None:
        """Do nothing."""

    def report_stderr(self, receive: Callable[[bytes], None]) -> None:
        """Report nothing: a recording has no standard error."""

    async def serve(self) -> None:
        """Return at once."""
        await trio.lowlevel.checkpoint()

    async def receive_some(self) -> bytes:
        """Return the next bytes, like `Source.receive_some`."""
        data = b""
        if not self._ended.is_set():
            data = await (self._read_line() if self._interval > 0 else self._read())
        if not data:
            self._ended.set()
        return data

    async def _read_line(self) -> bytes:
        with trio.move_on_after(self._interval):
            await self._ended.wait()
            return b""
        while b"\n" not in self._ahead and len(self._ahead) < READ_SIZE and not self._at_end:
            data = await self._read()
            self._at_end = not data
            self._ahead += data
        length = self._ahead.find(b"\n") + 1 or len(self._ahead)
        line = bytes(self._ahead[:length])
        del self._ahead[:length]
        return line

    async def _read(self) -> bytes:
        try:
            await self._readable()
            return b"" if self._ended.is_set() else os.read(self._fd, READ_SIZE)
        except (OSError, trio.ClosedResourceError):
            raise BackendError("io") from None

    async def _readable(self) -> None:
        if not self._waits:
            await trio.lowlevel.checkpoint()
            return
        async with trio.open_nursery() as nursery:

            async def stop_waiting() -> None:
                await self._ended.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(stop_waiting)
            await trio.lowlevel.wait_readable(self._fd)
            nursery.cancel_scope.cancel()

    def close_output(self) -> None:
        """Stop reading, like `Source.close_output`."""
        self._ended.set()

    async def wait(self) -> ExitStatus:
        """Return the status of the recorded agent, at the end of the file."""
        await self._ended.wait()
        return self._status

    async def stop(self, request: bytes) -> None:
        """Stop reading."""
        del request
        self._ended.set()
        await trio.lowlevel.checkpoint()

    def kill(self) -> None:
        """Stop reading."""
        self._ended.set()

    async def aclose(self) -> None:
        """Close the descriptor."""
        os.close(self._fd)
        await trio.lowlevel.checkpoint()


def _can_be_waited_for(fd: int) -> bool:
    """Return whether epoll supports `fd`. A descriptor that it refuses, such as /dev/null, never blocks."""
    poll = select.epoll()
    try:
        poll.register(fd, select.EPOLLIN)
    except PermissionError:
        return False
    finally:
        poll.close()
    return True
