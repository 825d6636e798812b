"""The bounded hand-off between a run and its consumer: the events of one read at a time (D1 to D4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import trio
from typing_extensions import override

from codex_adapter.events import Event

__all__ = ["EventStream", "Forwarder", "open_hand_off"]

_EVENTS_PER_CHECKPOINT: Final = 32
_CLOSED: Final = "the event stream was closed; open a new run to receive events"


class EventStream(trio.abc.ReceiveChannel[Event]):
    """The events of one run, live and in order, for one consumer (D1, D2).

    Iterate it, or take `receive_batch()` where thousands of events a second pass through. Closing it, or leaving the
    run's block, says that nobody listens any more: the run goes on to its end all the same (D3).
    """

    def __init__(self, batches: trio.MemoryReceiveChannel[Sequence[Event]]) -> None:
        self._batches = batches
        self._batch: Sequence[Event] = ()
        self._next = 0
        self._closed = False
        self._discarding = False
        self._receiving = False
        self.final = trio.Event()
        """Set once the consumer has seen the end of the events or has left them (F1)."""

    @override
    async def receive(self) -> Event:
        """The next event.

        Raises `trio.EndOfChannel` at the end of the events, `trio.ClosedResourceError` after `aclose()`,
        `trio.BusyResourceError` while another task waits for the next event.
        """
        if self._next == len(self._batch):
            self._batch, self._next = await self._receive(), 0
        elif self._next % _EVENTS_PER_CHECKPOINT == 0:
            await trio.lowlevel.checkpoint_if_cancelled()
        event = self._batch[self._next]
        self._next += 1
        return event

    @override
    async def __anext__(self) -> Event:
        # As `receive`, without a second coroutine: this is where most consumers spend their time.
        if self._next == len(self._batch):
            try:
                self._batch, self._next = await self._receive(), 0
            except trio.EndOfChannel:
                raise StopAsyncIteration from None
        elif self._next % _EVENTS_PER_CHECKPOINT == 0:
            await trio.lowlevel.checkpoint_if_cancelled()
        event = self._batch[self._next]
        self._next += 1
        return event

    async def receive_batch(self) -> Sequence[Event]:
        """All events at hand, at least one and at most those of one read; raises as `receive`."""
        if self._next == len(self._batch):
            return await self._receive()
        batch, self._batch = self._batch[self._next :], ()
        self._next = 0
        return batch

    @override
    async def aclose(self) -> None:
        """Leave the events: the run drains the rest and goes on to its completion (D3)."""
        self.leave()
        await trio.lowlevel.checkpoint()

    def leave(self) -> None:
        """As `aclose`, without a checkpoint."""
        self._closed = True
        self.discard()
        self._batches.close()
        self.final.set()

    def discard(self) -> None:
        """Forget events that were handed over and not yet taken: a cancelled run's events end at once (K3)."""
        self._batch, self._next = (), 0
        self._discarding = True

    async def _receive(self) -> Sequence[Event]:
        if self._closed:
            raise trio.ClosedResourceError(_CLOSED)
        if self._receiving:
            raise trio.BusyResourceError("another task receives these events; they are for one consumer")
        self._receiving = True
        try:
            batch = await self._batches.receive()
        except trio.EndOfChannel:
            self.final.set()
            raise
        finally:
            self._receiving = False
        # It may have been handed over already when the events were closed or the run cancelled.
        if self._closed:
            raise trio.ClosedResourceError(_CLOSED)
        if self._discarding:
            raise trio.EndOfChannel
        return batch


class Forwarder:
    """The run's side of the hand-off: forwards until the consumer leaves or the run is being ended (D3, D4).

    `next_seq` is the number that the next event must have: one more than that of the last event forwarded or held.
    """

    def __init__(self, batches: trio.MemorySendChannel[Sequence[Event]]) -> None:
        self.next_seq = 0
        self._batches = batches
        self._waiting: trio.CancelScope | None = None
        self._held: Sequence[Event] = ()
        self._holding = False
        self._open = True

    async def forward(self, events: Sequence[Event]) -> None:
        """Hand over the events, waiting for the consumer; nothing is done once it has left (D3)."""
        if not self._open or self._holding:
            return
        self.next_seq = events[-1].seq + 1
        with trio.CancelScope() as self._waiting:
            try:
                await self._batches.send(events)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self._open = False
        if self._waiting.cancelled_caught and self._open:
            self._held = events
        self._waiting = None

    def hold(self) -> None:
        """Stop waiting for the consumer: what it has not taken is kept for `release`, what comes later is dropped.

        A run that is being ended must go on reading, whatever its consumer does (K4).
        """
        self._holding = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def release(self, last: Sequence[Event]) -> None:
        """Hand over what `hold` kept, then the last events of all."""
        self._holding = False
        if events := [*self._held, *last]:
            await self.forward(events)

    def close(self) -> None:
        """The events are at their end."""
        self._open = False
        self._batches.close()
        if self._waiting is not None:
            self._waiting.cancel()


def open_hand_off() -> tuple[Forwarder, EventStream]:
    """Both sides of a hand-off without a buffer of its own: at most one batch is under way (D4)."""
    send: trio.MemorySendChannel[Sequence[Event]]
    receive: trio.MemoryReceiveChannel[Sequence[Event]]
    send, receive = trio.open_memory_channel(0)
    return Forwarder(send), EventStream(receive)
