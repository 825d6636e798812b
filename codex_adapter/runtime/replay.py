"""A recorded JSON Lines file as a `Source`: no agent, no network, no configuration (Y1, Y2)."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

import trio

from codex_adapter.core.redaction import backend_error_text
from codex_adapter.errors import BackendError, InvalidRequestError
from codex_adapter.events import ExitStatus

__all__ = ["ReplaySource", "open_recording"]

READ_SIZE: Final = 65_536


def open_recording(path: str, *, exit_status: ExitStatus, interval: float) -> ReplaySource:
    """Open a recording. Raises `InvalidRequestError` when the file cannot be read."""
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - the source owns and closes it
        file.read(0)
    except (OSError, ValueError) as error:
        reason = "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise InvalidRequestError(f"the recording {reason}; give the path of a JSON Lines file") from None
    return ReplaySource(file, exit_status=exit_status, interval=interval)


class ReplaySource:
    """Gives a file's bytes, whole reads at a time, or line by line with `interval` seconds before each."""

    def __init__(self, file: BinaryIO, *, exit_status: ExitStatus, interval: float) -> None:
        self._file = file
        self._status = exit_status
        self._interval = interval
        self._ended = trio.Event()

    @property
    def session_missing(self) -> bool:
        """A recording says nothing of the kind."""
        return False

    async def serve(self) -> None:
        """There is nothing to do."""
        await trio.lowlevel.checkpoint()

    async def receive_some(self) -> bytes:
        """As `Source.receive_some`."""
        if self._ended.is_set():
            return b""
        try:
            if self._interval > 0:
                with trio.move_on_after(self._interval):
                    await self._ended.wait()
                data = b"" if self._ended.is_set() else self._file.readline(READ_SIZE)
            else:
                await trio.lowlevel.checkpoint()
                data = self._file.read(READ_SIZE)
        except (OSError, ValueError):
            raise BackendError("io", backend_error_text("io")) from None
        if not data:
            self._ended.set()
        return data

    def close_output(self) -> None:
        """As `Source.close_output`."""
        self._ended.set()

    async def wait(self) -> ExitStatus:
        """The status that the recorded agent is said to have exited with, at the end of the file."""
        await self._ended.wait()
        return self._status

    async def stop(self) -> None:
        """Read no more."""
        self._ended.set()
        await trio.lowlevel.checkpoint()

    def kill(self) -> None:
        """Read no more."""
        self._ended.set()

    async def aclose(self) -> None:
        """Close the file."""
        self._file.close()
        await trio.lowlevel.checkpoint()
