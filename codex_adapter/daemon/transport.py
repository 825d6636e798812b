"""Write to the supervisor: one line after another, at its pace, each run in its turn (J1, J9, J10).

Five functions write, the first three for everybody, the last two for the first three:

| function | may be called | waits for | when it is cancelled |
|---|---|---|---|
| `SendQueue.send` | by any task | its turn and the reader | it continues to wait |
| `SendQueue.offer` | by any task | its turn and the reader | before its turn it writes nothing; then a task continues |
| `SendQueue.send_now` | from anywhere, if `idle` | nothing | |
| `Transport.write` | by the `SendQueue`, in a turn | the reader | never is |
| `Transport.write_now` | by the `SendQueue`, in a turn | nothing | |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import trio

from codex_adapter.records import encode_lines

__all__ = ["SendQueue", "Transport"]


class Transport(Protocol):
    """Bytes from the supervisor, and lines to it."""

    async def receive_some(self) -> bytes:
        """Return the next bytes of the supervisor; empty at their end."""

    async def write(self, data: bytes) -> bool:
        """Write whole lines at the supervisor's pace. Return False if it does not read any more."""

    def write_now(self, data: bytes) -> int:
        """Write as much as fits without waiting and return how many bytes; `write` must write the rest next."""

    async def wait_reader_closed(self) -> None:
        """Return when the supervisor does not read any more, as far as that shows without writing."""


class SendQueue:
    """The one place where messages are written. `on_close` is called when the supervisor does not read any more.

    Turns are granted in the order in which they are requested. A run with much to send requests one for each piece, so
    that all others that have something to send come between.
    """

    def __init__(self, transport: Transport, nursery: trio.Nursery, on_close: Callable[[], None]) -> None:
        self._transport = transport
        self._nursery = nursery
        self._on_close = on_close
        self._turn = trio.Semaphore(1)
        self.open = True
        """Whether the supervisor still reads."""

    @property
    def idle(self) -> bool:
        """Whether no task writes or waits for its turn, so that `send_now` may be called."""
        return self.open and self._turn.value > 0

    def close(self) -> None:
        """Write nothing any more: the supervisor does not read."""
        if self.open:
            self.open = False
            self._on_close()

    async def send(self, messages: Sequence[object]) -> None:
        """Write these messages together. Execute a checkpoint only if it has to wait; do nothing once closed."""
        with trio.CancelScope(shield=True):
            await self.offer(messages)

    async def offer(self, messages: Sequence[object]) -> None:
        """As `send`, but a cancellation ends the wait."""
        try:
            self._turn.acquire_nowait()
        except trio.WouldBlock:
            await self._turn.acquire()
        try:
            data = encode_lines(messages) if self.open else b""
            written = self._transport.write_now(data) if data else 0
        except BaseException:
            self._turn.release()
            raise
        if written == len(data):
            self._turn.release()
        else:
            await self._write_in_a_task(data[written:]).wait()

    def send_now(self, messages: Sequence[object]) -> None:
        """As `send`, without waiting: a task writes what does not fit."""
        data = encode_lines(messages)
        written = self._transport.write_now(data)
        if written < len(data):
            self._turn.acquire_nowait()
            self._write_in_a_task(data[written:])

    def _write_in_a_task(self, rest: bytes) -> trio.Event:
        """Write in the turn that is taken, then release it. Return an event that is set afterwards."""
        done = trio.Event()
        self._nursery.start_soon(self._write, rest, done)
        return done

    async def _write(self, rest: bytes, done: trio.Event) -> None:
        try:
            with trio.CancelScope(shield=True):
                if self.open and not await self._transport.write(rest):
                    self.close()
        finally:
            self._turn.release()
            done.set()
