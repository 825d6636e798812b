"""Hand the events of a run to its consumer, one read at a time and without a buffer (D1 to D4)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice
from typing import Final

import trio
from typing_extensions import override

from codex_adapter.events import Event

__all__ = ["EventStream", "Forwarder", "Sink", "open_hand_off"]

_EVENTS_PER_CHECKPOINT: Final = 32
_CLOSED: Final = "The event stream was closed. Open a new run to receive events."


Sink = Callable[[Sequence[Event]], bool]
"""A function that takes a batch of events at once, or returns False to leave it for the consumer."""


class _Waiting:
    """A waiting task of the consumer, and its batch. Each waiter has its own, even if another task takes the next
    batch."""

    __slots__ = ("events", "task")

    def __init__(self, task: trio.lowlevel.Task) -> None:
        self.task = task
        self.events: Sequence[Event] = ()


class _HandOff:
    """The point between a run and its consumer: an offered batch, or a waiting consumer, or neither.

    It replaces a trio channel with a cancel scope, which costs as much for each read as all of its events. `taken` is
    set unless a batch is `offered`. `ended` means that no more batches arrive, or that no consumer takes them.
    """

    def __init__(self) -> None:
        self.offered: Sequence[Event] = ()
        self.taken = trio.Event()
        self.taken.set()
        self.ended = False
        self.consumer: _Waiting | None = None
        self.sink: Sink | None = None

    def put(self, events: Sequence[Event]) -> None:
        if self.sink is not None and self.sink(events):
            return
        if self.consumer is not None:
            self._wake(self.consumer, events)
        else:
            self.offered = events
            self.taken = trio.Event()

    async def take(self) -> Sequence[Event]:
        """Return the next batch; empty at the end."""
        if self.offered or self.ended:
            await trio.lowlevel.checkpoint_if_cancelled()
            return self.withdraw()

        def forget(_: object) -> trio.lowlevel.Abort:
            self.consumer = None
            return trio.lowlevel.Abort.SUCCEEDED

        self.consumer = waiting = _Waiting(trio.lowlevel.current_task())
        await trio.lowlevel.wait_task_rescheduled(forget)
        return waiting.events

    def withdraw(self) -> Sequence[Event]:
        events, self.offered = self.offered, ()
        self.taken.set()
        return events

    def end(self) -> None:
        self.ended = True
        self.withdraw()
        if self.consumer is not None:
            self._wake(self.consumer, ())

    def _wake(self, consumer: _Waiting, events: Sequence[Event]) -> None:
        self.consumer, consumer.events = None, events
        trio.lowlevel.reschedule(consumer.task)


class EventStream(trio.abc.ReceiveChannel[Event]):
    """The events of one run, live and in order, for one consumer.

    Iterate over it, or over `batches()` for thousands of events a second. Closing it, or leaving the run's block, means
    that the consumer stops listening. The run still continues to its end (D1, D2, D3).
    """

    def __init__(self, hand_off: _HandOff) -> None:
        self._hand_off = hand_off
        self._rest: Iterator[Event] = iter(())  # of the last batch
        self._ready: Iterator[Event] = iter(())  # the part of the rest that is returned without a checkpoint
        self._closed = False
        self._discarding = False
        self.final = trio.Event()
        """Set once the consumer has read the end of the events or has closed them (F1)."""

    @override
    async def receive(self) -> Event:
        """Return the next event.

        Raise `trio.EndOfChannel` at the end of the events, `trio.ClosedResourceError` after `aclose()`,
        `trio.BusyResourceError` while another task waits for the next event.
        """
        for event in self._ready:
            return event
        return await self._receive_more()

    @override
    async def __anext__(self) -> Event:
        # The code of `receive` again, without a second coroutine: most consumers spend their time here.
        for event in self._ready:
            return event
        try:
            return await self._receive_more()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None

    async def receive_batch(self) -> Sequence[Event]:
        """Return all available events, at least one and at most those of one read. Raise as `receive` does."""
        return [*self._ready, *self._rest] or await self._receive()

    def batches(self, *, patience: float | None = None) -> AsyncIterator[Sequence[Event]]:
        """Yield what `receive_batch` returns until the events end or are closed.

        With `patience`, in seconds, yield an empty batch whenever none arrived for that time. Raise
        `trio.BusyResourceError` while another task waits for the next event (D5).
        """
        return _Batches(self, patience)

    def offer_to(self, sink: Sink) -> None:
        """Offer each batch to `sink` as soon as it arrives, before any task runs.

        The consumer receives the batches that the sink does not take. The sink must be quick and must not raise.
        """
        self._hand_off.sink = sink

    @override
    async def aclose(self) -> None:
        """Close the events. The run drains the rest and continues to its completion (D3)."""
        self.leave()
        await trio.lowlevel.checkpoint()

    def leave(self) -> None:
        """Close the events without a checkpoint."""
        self._closed = True
        self.discard()
        self._hand_off.end()
        self.final.set()

    def discard(self) -> None:
        """Drop the events that the consumer has not received: a cancelled run's events end at once (K3)."""
        self._ready = self._rest = iter(())
        self._discarding = True

    async def _receive_more(self) -> Event:
        """Return the next event after a checkpoint, with a new batch if the last one is used up."""
        await trio.lowlevel.checkpoint_if_cancelled()
        while True:
            self._ready = islice(self._rest, _EVENTS_PER_CHECKPOINT)
            for event in self._ready:
                return event
            self._rest = iter(await self._receive())

    async def _receive(self) -> Sequence[Event]:
        if self._closed:
            raise trio.ClosedResourceError(_CLOSED)
        if self._hand_off.consumer is not None:
            raise trio.BusyResourceError("Another task receives these events. Use one consumer for each run.")
        batch = await self._hand_off.take()
        # The batch may have arrived before the events were closed or the run was cancelled.
        if self._closed:
            raise trio.ClosedResourceError(_CLOSED)
        if self._discarding or not batch:
            self.final.set()
            raise trio.EndOfChannel
        return batch


class _Batches(AsyncIterator[Sequence[Event]]):
    """The batches of a stream. A generator would cost more per batch and would not end a run in order."""

    def __init__(self, events: EventStream, patience: float | None) -> None:
        self._events = events
        self._patience = patience

    @override
    async def __anext__(self) -> Sequence[Event]:
        events = self._events
        try:
            if self._patience is None:
                # The code of `receive_batch` again, without a second coroutine.
                return [*events._ready, *events._rest] or await events._receive()
            with trio.move_on_after(self._patience):
                return await events.receive_batch()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            raise StopAsyncIteration from None
        return ()


class Forwarder:
    """The run's side of the hand-off. It forwards events until the consumer leaves or the run is being ended.

    `next_seq` is the number of the next event: one more than that of the last event that was forwarded or held (D3,
    D4).
    """

    def __init__(self, hand_off: _HandOff) -> None:
        self.next_seq = 0
        self._hand_off = hand_off
        self._holding = False

    @property
    def taken(self) -> trio.Event:
        """Set when the run need not wait: the events are taken, or no consumer is left, or `hold` was called."""
        return self._hand_off.taken

    def forward(self, events: Sequence[Event]) -> None:
        """Pass at least one event to the consumer.

        Do not call this again before the events are `taken`. After the consumer has left, this does nothing (D3).
        """
        if not self._hand_off.ended and not self._holding:
            self.next_seq = events[-1].seq + 1
            self._hand_off.put(events)

    def hold(self) -> None:
        """Stop waiting for the consumer: the offered events stay available, later events are dropped.

        A run that is being ended must continue to read, whatever its consumer does (K4).
        """
        self._holding = True
        self._hand_off.taken.set()

    async def release(self, last: Sequence[Event]) -> None:
        """Pass the last events of the run, after those that `hold` kept, and wait until they are taken."""
        self._holding = False
        if events := [*self._hand_off.withdraw(), *last]:
            self.forward(events)
            await self.taken.wait()

    def close(self) -> None:
        """End the events."""
        self._hand_off.end()


def open_hand_off() -> tuple[Forwarder, EventStream]:
    """Return both sides of a hand-off without a buffer: at most one batch is between them (D4)."""
    hand_off = _HandOff()
    return Forwarder(hand_off), EventStream(hand_off)
