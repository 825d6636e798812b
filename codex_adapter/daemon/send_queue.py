"""What goes to the supervisor: one line after another, at its pace, each run in its turn (J1, J9, J10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from codex_adapter.daemon.transport import Wires
from codex_adapter.records import encode_lines

__all__ = ["Outbox"]


class Outbox:
    """The one place where messages are written; `closed` is called when nobody reads them any more.

    Turns are given in the order in which they are asked for: each run that has much to say asks anew for every piece of
    it, and so comes after all others that have something.
    """

    def __init__(self, wires: Wires, nursery: trio.Nursery, closed: Callable[[], None]) -> None:
        self._wires = wires
        self._nursery = nursery
        self._closed = closed
        self._turn = trio.Semaphore(1)
        self.open = True
        """Whether there is still somebody who reads."""

    @property
    def idle(self) -> bool:
        """Whether `send_now` may be called: nobody writes or waits for it."""
        return self.open and self._turn.value > 0

    def close(self) -> None:
        """Nobody reads any more."""
        if self.open:
            self.open = False
            self._closed()

    async def send(self, messages: Sequence[object]) -> None:
        """Write these messages together, when it is their turn; no cancellation tears them.

        A checkpoint only where there is somebody to wait for. Once nobody reads any more, it does nothing.
        """
        with trio.CancelScope(shield=True):
            await self._take_turn()
            await self._write(self._encoded(messages))

    async def offer(self, messages: Sequence[object]) -> None:
        """As `send`, but whoever is cancelled waits no longer: then a task writes the rest of them, or nobody any."""
        await self._take_turn()
        data = self._encoded(messages)
        written = self._wires.write_now(data) if data else 0
        if written == len(data):
            self._turn.release()
            return
        done = trio.Event()
        self._nursery.start_soon(self._finish, data[written:], done)
        await done.wait()

    def send_now(self, messages: Sequence[object]) -> None:
        """As `send`, when it is idle, and without waiting: a task sees to what there is no room for yet."""
        data = encode_lines(messages)
        written = self._wires.write_now(data)
        if written < len(data):
            self._turn.acquire_nowait()
            self._nursery.start_soon(self._finish, data[written:], trio.Event())

    async def _finish(self, rest: bytes, done: trio.Event) -> None:
        with trio.CancelScope(shield=True):
            await self._write(rest)
        done.set()

    async def _take_turn(self) -> None:
        try:
            self._turn.acquire_nowait()
        except trio.WouldBlock:
            await self._turn.acquire()

    def _encoded(self, messages: Sequence[object]) -> bytes:
        """Encode them in one's turn, which is given to the next one where that cannot be done."""
        try:
            return encode_lines(messages) if self.open else b""
        except BaseException:
            self._turn.release()
            raise

    async def _write(self, data: bytes) -> None:
        """Write, and give the turn to the next one."""
        try:
            if self.open and not await self._wires.write(data):
                self.close()
        finally:
            self._turn.release()
