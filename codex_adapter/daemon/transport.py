"""Write lines to the supervisor, at its pace, with one turn for each run (J1, J9, J10).

Five functions write. The first three are for all callers, and call the last two:

| function | may be called | waits for | when it is cancelled |
|---|---|---|---|
| `SendQueue.send` | by any task | its turn and the reader | it continues to wait |
| `SendQueue.offer` | by any task | its turn and the reader | before its turn: no write; else a task completes it |
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
        """Return the next bytes from the supervisor, empty at the end."""

    async def write(self, data: bytes) -> bool:
        """Write complete lines at the supervisor's pace. Return False if it no longer reads."""

    def write_now(self, data: bytes) -> int:
        """Write without waiting, and return the number of written bytes. `write` must write the rest next."""

    async def wait_reader_closed(self) -> None:
        """Wait until the supervisor no longer reads, as far as this is visible without a write."""


class SendQueue:
    """The only writer of messages. `on_close` is called when the supervisor no longer reads.

    Turns are granted in the order of the requests. A run with much data requests one turn for each piece, so that other
    runs send their data in between.
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
        """Write nothing more, because the supervisor does not read."""
        if self.open:
            self.open = False
            self._on_close()

    async def send(self, messages: Sequence[object]) -> None:
        """Write these messages together. Execute a checkpoint only for a wait. Do nothing if closed."""
        with trio.CancelScope(shield=True):
            await self.offer(messages)

    async def offer(self, messages: Sequence[object]) -> None:
        """Send as `send` does, but let a cancellation end the wait."""
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
        """Send as `send` does, but do not wait: a task writes the rest."""
        data = encode_lines(messages)
        written = self._transport.write_now(data)
        if written < len(data):
            self._turn.acquire_nowait()
            self._write_in_a_task(data[written:])

    def _write_in_a_task(self, rest: bytes) -> trio.Event:
        """Write in the current turn, then release the turn. Return an event that is set afterwards."""
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
