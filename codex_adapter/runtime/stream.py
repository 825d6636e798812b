"""The bounded hand-off between a run and its consumer: the events of one read at a time (D1 to D4)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice
from typing import Final

import trio
from typing_extensions import override

from codex_adapter.events import Event

__all__ = ["EventStream", "Forwarder", "Sink", "open_hand_off"]

_EVENTS_PER_CHECKPOINT: Final = 32
_CLOSED: Final = "the event stream was closed; open a new run to receive events"


Sink = Callable[[Sequence[Event]], bool]
"""Takes a batch of events at once, or by False leaves it to be received."""


class _Waiting:
    """A consumer's task that waits, and then what it is given: its own, whoever comes before it goes on."""

    __slots__ = ("given", "task")

    def __init__(self, task: trio.lowlevel.Task) -> None:
        self.task = task
        self.given: Sequence[Event] = ()


class _HandOff:
    """Between the two: a batch that nobody has taken yet, or a consumer that waits for one, or neither.

    By hand, for a channel with a scope to interrupt it costs as much for each read as all of its events. `taken` is set
    unless a batch is `offered`; `ended` says that there will be none any more, or nobody to take it.
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
        """The next batch; empty at the end."""
        if self.offered or self.ended:
            await trio.lowlevel.checkpoint_if_cancelled()
            return self.withdraw()

        def forget(_: object) -> trio.lowlevel.Abort:
            self.consumer = None
            return trio.lowlevel.Abort.SUCCEEDED

        self.consumer = waiting = _Waiting(trio.lowlevel.current_task())
        await trio.lowlevel.wait_task_rescheduled(forget)
        return waiting.given

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
        self.consumer, consumer.given = None, events
        trio.lowlevel.reschedule(consumer.task)


class EventStream(trio.abc.ReceiveChannel[Event]):
    """The events of one run, live and in order, for one consumer (D1, D2).

    Iterate it, or `batches()` where thousands of events a second pass through. Closing it, or leaving the run's block,
    says that nobody listens any more: the run goes on to its end all the same (D3).
    """

    def __init__(self, hand_off: _HandOff) -> None:
        self._hand_off = hand_off
        self._rest: Iterator[Event] = iter(())  # of the last batch
        self._ready: Iterator[Event] = iter(())  # of the rest: what is given without a checkpoint
        self._closed = False
        self._discarding = False
        self.final = trio.Event()
        """Set once the consumer has seen the end of the events or has left them (F1)."""

    @override
    async def receive(self) -> Event:
        """The next event.

        Raises `trio.EndOfChannel` at the end of the events, `trio.ClosedResourceError` after `aclose()`,
        `trio.BusyResourceError` while another task waits for the next event.
        """
        for event in self._ready:
            return event
        return await self._receive_more()

    @override
    async def __anext__(self) -> Event:
        # As `receive`, without a second coroutine: this is where most consumers spend their time.
        for event in self._ready:
            return event
        try:
            return await self._receive_more()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None

    async def receive_batch(self) -> Sequence[Event]:
        """All events at hand, at least one and at most those of one read; raises as `receive`."""
        return [*self._ready, *self._rest] or await self._receive()

    def batches(self, *, patience: float | None = None) -> AsyncIterator[Sequence[Event]]:
        """Yield what `receive_batch` returns until the events end or are closed.

        With `patience`, in seconds, yield an empty batch whenever none arrived for so long. Raise
        `trio.BusyResourceError` while another task waits for the next event. (D5)
        """
        return _Batches(self, patience)

    def offer_to(self, sink: Sink) -> None:
        """Offer each batch to `sink` first, as soon as it is there, without waiting for the turn of a task.

        What it does not take is received as ever. It must be quick, and raise nothing.
        """
        self._hand_off.sink = sink

    @override
    async def aclose(self) -> None:
        """Leave the events: the run drains the rest and goes on to its completion (D3)."""
        self.leave()
        await trio.lowlevel.checkpoint()

    def leave(self) -> None:
        """As `aclose`, without a checkpoint."""
        self._closed = True
        self.discard()
        self._hand_off.end()
        self.final.set()

    def discard(self) -> None:
        """Forget events that were handed over and not yet taken: a cancelled run's events end at once (K3)."""
        self._ready = self._rest = iter(())
        self._discarding = True

    async def _receive_more(self) -> Event:
        """The next event, where a checkpoint is due or nothing is left of the last batch."""
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
            raise trio.BusyResourceError("another task receives these events; they are for one consumer")
        batch = await self._hand_off.take()
        # It may have been handed over already when the events were closed or the run cancelled.
        if self._closed:
            raise trio.ClosedResourceError(_CLOSED)
        if self._discarding or not batch:
            self.final.set()
            raise trio.EndOfChannel
        return batch


class _Batches(AsyncIterator[Sequence[Event]]):
    """The batches of a stream; no generator, which would cost each batch more and a run its orderly end."""

    def __init__(self, events: EventStream, patience: float | None) -> None:
        self._events = events
        self._patience = patience

    @override
    async def __anext__(self) -> Sequence[Event]:
        events = self._events
        try:
            if self._patience is None:
                # As `receive_batch`, without a second coroutine.
                return [*events._ready, *events._rest] or await events._receive()
            with trio.move_on_after(self._patience):
                return await events.receive_batch()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            raise StopAsyncIteration from None
        return ()


class Forwarder:
    """The run's side of the hand-off: forwards until the consumer leaves or the run is being ended (D3, D4).

    `next_seq` is the number that the next event must have: one more than that of the last event forwarded or held.
    """

    def __init__(self, hand_off: _HandOff) -> None:
        self.next_seq = 0
        self._hand_off = hand_off
        self._holding = False

    @property
    def taken(self) -> trio.Event:
        """Set once nobody needs to be waited for: what was forwarded is taken, nobody is left to take it, or `hold`."""
        return self._hand_off.taken

    def forward(self, events: Sequence[Event]) -> None:
        """Hand over the events, at least one, to a consumer that waits, or for it to come: nothing else may be
        forwarded until they are `taken`. Nothing is done once it has left (D3)."""
        if not self._hand_off.ended and not self._holding:
            self.next_seq = events[-1].seq + 1
            self._hand_off.put(events)

    def hold(self) -> None:
        """Do not wait for the consumer: what it has not taken stays at hand, what comes later is dropped.

        A run that is being ended must go on reading, whatever its consumer does (K4).
        """
        self._holding = True
        self._hand_off.taken.set()

    async def release(self, last: Sequence[Event]) -> None:
        """Hand over the last events of all, after what `hold` kept, and wait until they are taken."""
        self._holding = False
        if events := [*self._hand_off.withdraw(), *last]:
            self.forward(events)
            await self.taken.wait()

    def close(self) -> None:
        """The events are at their end."""
        self._hand_off.end()


def open_hand_off() -> tuple[Forwarder, EventStream]:
    """Both sides of a hand-off without a buffer of its own: at most one batch is under way (D4)."""
    hand_off = _HandOff()
    return Forwarder(hand_off), EventStream(hand_off)
