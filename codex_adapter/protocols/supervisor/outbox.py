"""What goes to the supervisor: one line after another, at its pace, each run in its turn (J1, J9, J10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import trio

from codex_adapter.records import encode_lines

__all__ = ["Outbox"]


class Outbox:
    """The one place where messages are written.

    `write` writes whole lines and tells whether anybody will read more; `closed` is called when nobody will.
    """

    def __init__(self, write: Callable[[bytes], Awaitable[bool]], closed: Callable[[], None]) -> None:
        self._write = write
        self._closed = closed
        # It is given to those who wait in the order in which they came: each run that has much to say asks anew for
        # every piece of it, and so comes after all others that have something.
        self._turn = trio.Lock()
        self.open = True
        """Whether there is still somebody who reads."""

    def close(self) -> None:
        """Nobody reads any more."""
        if self.open:
            self.open = False
            self._closed()

    async def send(self, messages: Sequence[Any]) -> None:
        """Write these messages together, when it is their turn; no cancellation tears them.

        A checkpoint only where there is somebody to wait for. Once nobody reads any more, it does nothing.
        """
        with trio.CancelScope(shield=True):
            try:
                self._turn.acquire_nowait()
            except trio.WouldBlock:
                await self._turn.acquire()
            try:
                if self.open and not await self._write(encode_lines(messages)):
                    self.close()
            finally:
                self._turn.release()
