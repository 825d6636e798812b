"""Test that the hand-off of a run loses no batch with late or cancelled tasks (D1 to D4)."""

from __future__ import annotations

import inspect

import pytest
import trio
import trio.testing

from codex_adapter.events import Event
from codex_adapter.runtime.stream import EventStream, Forwarder, open_hand_off

from ..rows import rows


def batch(first: int, count: int = 2) -> list[Event]:
    return [Event(seq, "codex", "status") for seq in range(first, first + count)]


async def seqs(events: EventStream) -> list[int]:
    return [event.seq for event in await events.receive_batch()]


@pytest.mark.rule("D1", "D2")
async def test_a_consumer_that_waits_is_given_a_batch_and_the_run_need_not_wait() -> None:
    forwarder, events = open_hand_off()
    found: list[int] = []

    async def consume() -> None:
        found.extend(await seqs(events))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consume)
        await trio.testing.wait_all_tasks_blocked()
        forwarder.forward(batch(0))
        assert forwarder.taken.is_set()
    assert found == [0, 1]


@pytest.mark.rule("D4")
async def test_a_batch_waits_for_its_consumer_and_the_run_for_the_batch() -> None:
    forwarder, events = open_hand_off()
    forwarder.forward(batch(0))
    taken = forwarder.taken
    assert not taken.is_set()
    assert (await events.receive()).seq == 0
    assert taken.is_set()
    forwarder.forward(batch(2))
    assert (await seqs(events), await seqs(events)) == ([1], [2, 3])


@pytest.mark.rule("D2")
async def test_a_consumer_that_is_cancelled_while_it_waits_takes_nothing_with_it() -> None:
    forwarder, events = open_hand_off()
    with trio.move_on_after(0) as scope:
        await events.receive()
    assert scope.cancelled_caught
    forwarder.forward(batch(0))
    assert await seqs(events) == [0, 1]


@pytest.mark.rule("D2")
async def test_a_consumer_that_is_cancelled_with_a_batch_in_its_hands_still_has_it() -> None:
    forwarder, events = open_hand_off()
    found: list[int] = []
    scope = trio.CancelScope()

    async def consume() -> None:
        with scope:
            found.extend(await seqs(events))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consume)
        await trio.testing.wait_all_tasks_blocked()
        forwarder.forward(batch(0))
        scope.cancel()
    assert found == [0, 1]


@pytest.mark.rule("D2")
@rows("_again", range(30))  # the event loop runs the tasks of a step in random order
async def test_a_second_consumer_that_comes_before_the_first_goes_on_takes_nothing_from_it(_again: int) -> None:  # noqa: PT019
    forwarder, events = open_hand_off()
    found: list[int] = []

    async def consume() -> None:
        found.extend(await seqs(events))

    async def forward_more() -> None:
        forwarder.forward(batch(2))
        await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consume)
        await trio.testing.wait_all_tasks_blocked()
        forwarder.forward(batch(0))
        nursery.start_soon(forward_more)
        assert await seqs(events) == [2, 3]
    assert found == [0, 1]


@pytest.mark.rule("D3", "F1")
@pytest.mark.parametrize("waiting", [True, False])
async def test_the_end_comes_after_what_was_forwarded(waiting: bool) -> None:
    forwarder, events = open_hand_off()
    ends: list[type[BaseException]] = []

    async def consume() -> None:
        try:
            await events.receive()
        except trio.EndOfChannel as end:
            ends.append(type(end))

    async with trio.open_nursery() as nursery:
        if waiting:
            nursery.start_soon(consume)
            await trio.testing.wait_all_tasks_blocked()
        forwarder.close()
        if not waiting:
            nursery.start_soon(consume)
    assert ends == [trio.EndOfChannel]
    assert events.final.is_set()


@pytest.mark.rule("D3")
async def test_nobody_waits_for_a_consumer_that_has_left() -> None:
    forwarder, events = open_hand_off()
    forwarder.forward(batch(0))
    taken = forwarder.taken
    events.leave()
    assert taken.is_set()
    forwarder.forward(batch(2))
    assert forwarder.taken.is_set()
    assert forwarder.next_seq == 2
    with pytest.raises(trio.ClosedResourceError):
        await events.receive()


async def _released(forwarder: Forwarder) -> None:
    await forwarder.release(batch(4))
    forwarder.close()


@pytest.mark.rule("K4", "D2")
async def test_what_is_held_comes_before_the_last_events_and_what_came_meanwhile_does_not() -> None:
    forwarder, events = open_hand_off()
    forwarder.forward(batch(0))
    forwarder.hold()
    assert forwarder.taken.is_set()
    forwarder.forward(batch(2))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_released, forwarder)
        assert [event.seq async for event in events] == [0, 1, 4, 5]


@pytest.mark.rule("D5")
async def test_batches_begin_with_the_rest_of_the_last_and_end_with_the_events() -> None:
    forwarder, events = open_hand_off()
    forwarder.forward(batch(0, 3))
    assert (await events.receive()).seq == 0
    found: list[list[int]] = []

    async def consume() -> None:
        found.extend([[event.seq for event in batch] async for batch in events.batches()])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consume)
        await trio.testing.wait_all_tasks_blocked()
        forwarder.forward(batch(3))
        await trio.testing.wait_all_tasks_blocked()
        forwarder.close()
    assert found == [[1, 2], [3, 4]]
    assert events.final.is_set()


@pytest.mark.rule("D5")
@pytest.mark.parametrize("patience", [None, 60.0])
async def test_batches_end_when_the_events_are_closed(patience: float | None) -> None:
    _, events = open_hand_off()
    found: list[object] = []

    async def consume() -> None:
        found.extend([batch async for batch in events.batches(patience=patience)])
        found.append("end")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consume)
        await trio.testing.wait_all_tasks_blocked()
        events.leave()
    assert found == ["end"]
    assert [batch async for batch in events.batches(patience=patience)] == []


@pytest.mark.rule("D5")
async def test_a_patient_consumer_gets_an_empty_batch_when_none_arrives(autojump_clock: trio.testing.MockClock) -> None:
    forwarder, events = open_hand_off()
    found: list[tuple[float, int]] = []
    started = trio.current_time()

    async def forward() -> None:
        await trio.sleep(5)
        forwarder.forward(batch(0))
        await trio.sleep(1)
        forwarder.close()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(forward)
        found.extend([(trio.current_time() - started, len(it)) async for it in events.batches(patience=2)])
    assert found == [(2, 0), (4, 0), (5, 2)]


@pytest.mark.rule("D5", "D1")
async def test_batches_are_for_one_consumer() -> None:
    forwarder, events = open_hand_off()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(seqs, events)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await anext(events.batches())
        forwarder.forward(batch(0))


@pytest.mark.rule("D5")
async def test_a_batch_costs_one_coroutine_and_no_generator() -> None:
    forwarder, events = open_hand_off()
    forwarder.forward(batch(0))
    step = anext(events.batches())
    assert inspect.iscoroutine(step)
    assert len(await step) == 2
