"""Test that a run ends correctly if its consumer leaves, stalls, raises, competes or never reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_adapter import BackendError, Completion, Event, ExitStatus, RunCancelled

from ..rows import rows
from ..runtime.scripted import DONE, THREAD, TURN, running, say, texts

COUNT = 12
SCRIPT = [THREAD, TURN, *(say(str(number), number) for number in range(COUNT - 3)), DONE]


@pytest.mark.fault(
    "consumer",
    "The consumer stops reading after any number of events, or before the first",
    "The completion is correct",
)
@pytest.mark.rule("D3", "F1", "F2")
@rows("how", ["close", "break", "leave"])
@rows("count", range(COUNT + 1))
async def test_a_consumer_may_leave_at_any_event(count: int, how: str) -> None:
    async with running([*SCRIPT]) as (run, source):
        for _ in range(count):
            await run.events.receive()
        if how == "break":
            async for _ in run.events:
                break
        if how != "leave":
            await run.events.aclose()
    assert source.calls == ["aclose"]
    completion = await run.wait_completed()
    assert (completion.turn, completion.final_text) == ("completed", str(COUNT - 4))


class Private(BaseException):
    """An exception that is nobody's business."""


RAISED = [
    pytest.param(
        lambda: KeyError("mine"),
        marks=pytest.mark.fault(
            "consumer", "The consumer raises an exception", "The block raises the same exception, unwrapped"
        ),
    ),
    pytest.param(
        lambda: ExceptionGroup("mine", [KeyError("a"), ValueError("b")]),
        marks=pytest.mark.fault("consumer", "The consumer raises an ExceptionGroup", "The block raises the same group"),
    ),
    pytest.param(
        KeyboardInterrupt,
        marks=pytest.mark.fault(
            "consumer", "KeyboardInterrupt interrupts the consumer", "The block raises the same exception, unwrapped"
        ),
    ),
    pytest.param(
        SystemExit,
        marks=pytest.mark.fault(
            "consumer", "The consumer calls `sys.exit`", "The block raises the same exception, unwrapped"
        ),
    ),
    pytest.param(
        GeneratorExit,
        marks=pytest.mark.fault(
            "consumer", "The consumer raises GeneratorExit", "The block raises the same exception, unwrapped"
        ),
    ),
    pytest.param(
        lambda: StopAsyncIteration("mine"),
        marks=pytest.mark.fault(
            "consumer", "The consumer raises StopAsyncIteration", "The block raises the same exception, unwrapped"
        ),
    ),
    pytest.param(
        lambda: StopIteration("mine"),
        marks=pytest.mark.fault("consumer", "The consumer raises StopIteration", "The block raises the same exception"),
    ),
    pytest.param(
        lambda: BackendError("io", "mine"),
        marks=pytest.mark.fault(
            "consumer",
            "The consumer raises an error type of the adapter",
            "The block raises the same error; the run's outcome does not change",
        ),
    ),
    pytest.param(
        lambda: trio.ClosedResourceError("mine"),
        marks=pytest.mark.fault(
            "consumer", "The consumer raises ClosedResourceError", "The block raises the same exception, unwrapped"
        ),
    ),
    pytest.param(
        Private,
        marks=pytest.mark.fault(
            "consumer", "The consumer raises its own subclass of BaseException", "The block raises the same exception"
        ),
    ),
]


@pytest.mark.rule("K5")
@pytest.mark.parametrize("make", RAISED)
@rows("count", [0, 1, COUNT])
async def test_what_a_consumer_raises_leaves_the_block_as_it_is(make: Callable[[], BaseException], count: int) -> None:
    mine = make()
    caught: BaseException | None = None
    try:
        async with running([*SCRIPT, math.inf]) as (run, source):
            for _ in range(count):
                await run.events.receive()
            raise mine  # noqa: TRY301 - out of the block, that is the subject
    except BaseException as error:  # noqa: BLE001, ASYNC103 - whatever it is
        caught = error
    assert caught is mine
    assert (caught.__cause__, caught.__context__) == (None, None)
    assert source.calls[-1] == "aclose"
    assert (await run.wait_completed()).status == ExitStatus(code=0)


@pytest.mark.fault(
    "consumer",
    "The consumer raises an exception while its run fails",
    "The consumer's exception propagates; the run's outcome does not change",
)
@pytest.mark.rule("K5", "F5")
async def test_an_exception_out_of_a_run_that_has_failed(autojump_clock: MockClock) -> None:
    with pytest.raises(KeyError, match="mine"):  # noqa: PT012 - the block is the subject
        async with running([THREAD, math.inf], timeout=1) as (run, _):
            await texts(run)
            raise KeyError("mine")
    with pytest.raises(BackendError, match="timeout"):
        await run.wait_completed()


@pytest.mark.fault("consumer", "The error of one run propagates through the block of another", "Both runs end")
@pytest.mark.rule("K5")
async def test_runs_inside_runs_are_all_ended(autojump_clock: MockClock) -> None:
    with pytest.raises(BackendError, match="timeout") as caught:  # noqa: PT012 - the blocks are the subject
        async with running([THREAD, math.inf], stubborn=2) as (_, outer):
            async with running([THREAD, math.inf], timeout=1) as (run, inner):
                await run.events.aclose()
                await run.wait_completed()
    assert caught.value.__context__ is None
    assert (outer.calls[-1], inner.calls[-1]) == ("aclose", "aclose")
    assert trio.current_time() == 3


@pytest.mark.fault(
    "consumer", "A caller cancels a consumer that stalls forever", "The run ends before the block returns control"
)
@pytest.mark.rule("K5", "D4")
@pytest.mark.parametrize("taken", [0, 1, 5])
async def test_a_consumer_that_stalls_for_ever_is_cancelled(autojump_clock: MockClock, taken: int) -> None:
    with trio.move_on_after(1_000) as scope:
        async with running([*SCRIPT, math.inf], timeout=1, stubborn=2) as (run, source):
            for _ in range(taken):
                await run.events.receive()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert trio.current_time() == 1_002
    assert source.calls[-1] == "aclose"


@pytest.mark.fault(
    "consumer", "Two tasks wait for the next event", "The second task gets an error and no event is lost"
)
@pytest.mark.rule("D2", "D4")
async def test_a_second_consumer_is_refused() -> None:
    go = trio.Event()
    async with running([go, THREAD + TURN, say("a") + say("b") + say("c"), DONE]) as (run, _):
        got: list[Event] = []
        async with trio.open_nursery() as nursery:

            async def consume() -> None:
                async for event in run.events:
                    got.append(event)
                    await wait_all_tasks_blocked()

            nursery.start_soon(consume)
            await wait_all_tasks_blocked()
            for receive in (run.events.receive, run.events.receive_batch):
                with pytest.raises(trio.BusyResourceError), trio.fail_after(60):
                    await receive()
            go.set()
        assert [event.seq for event in got] == list(range(6))


@pytest.mark.fault("consumer", "Two tasks receive events in turn", "Each event reaches exactly one task, in order")
@pytest.mark.rule("D2")
async def test_consumers_that_take_turns_share_the_events() -> None:
    async with running([*SCRIPT]) as (run, _):
        got: list[int] = []
        turn = trio.Lock()

        async def consume() -> None:
            while True:
                async with turn:
                    try:
                        got.append((await run.events.receive()).seq)
                    except trio.EndOfChannel:
                        return

        async with trio.open_nursery() as nursery:
            nursery.start_soon(consume)
            nursery.start_soon(consume)
    assert got == list(range(COUNT))


@pytest.mark.fault("consumer", "The consumer closes the events twice", "The second call does nothing")
@pytest.mark.fault("consumer", "The consumer reads after it closed the events", "Every read raises ClosedResourceError")
@pytest.mark.fault("consumer", "The consumer reads after the end", "Every read raises EndOfChannel")
@pytest.mark.fault("consumer", "The consumer reads, cancels and kills after the end of the block", "Nothing changes")
@pytest.mark.rule("D3", "F1", "F6", "K3")
async def test_what_comes_after_the_end_changes_nothing() -> None:
    async with running([*SCRIPT]) as (run, source):
        assert len(await texts(run)) == COUNT
        for _ in range(2):
            with pytest.raises(trio.EndOfChannel):
                await run.events.receive()
        completion = await run.wait_completed()
        for _ in range(2):
            await run.events.aclose()
            with pytest.raises(trio.ClosedResourceError):
                await run.events.receive()
            with pytest.raises(trio.ClosedResourceError):
                await run.events.receive_batch()
    run.cancel()
    run.kill()
    with pytest.raises(trio.ClosedResourceError):
        await run.events.receive()
    assert await run.wait_completed() is completion
    assert source.calls == ["aclose"]


@pytest.mark.fault(
    "consumer",
    "Another task closes the events while the consumer reads",
    "The read raises ClosedResourceError; the run continues",
)
@pytest.mark.rule("D3", "F1")
async def test_events_that_are_closed_under_their_reader() -> None:
    go = trio.Event()
    async with running([THREAD, TURN, go, say("a"), DONE]) as (run, _), trio.open_nursery() as nursery:
        seen: list[str | None] = []

        async def consume() -> None:
            with pytest.raises(trio.ClosedResourceError):  # noqa: PT012 - whenever it comes
                async for event in run.events:
                    seen.append(event.text)

        nursery.start_soon(consume)
        await wait_all_tasks_blocked()
        await run.events.aclose()
        go.set()
        assert (await run.wait_completed()).final_text == "a"
        assert seen == [None, None]


@pytest.mark.fault(
    "consumer", "A cancel arrives while the consumer receives an event", "The consumer receives no further event"
)
@pytest.mark.rule("K3")
@rows("how", ["cancel", "close"])
@rows("ticks", range(8))
async def test_an_event_under_way_is_dropped_when_the_run_is_cancelled_or_closed(how: str, ticks: int) -> None:
    go, over, late = trio.Event(), trio.Event(), []
    async with running([THREAD, go, TURN + say("a"), DONE]) as (run, _), trio.open_nursery() as nursery:

        async def consume() -> None:
            with suppress(trio.ClosedResourceError):
                async for event in run.events:
                    late.extend([event] if over.is_set() else [])

        nursery.start_soon(consume)
        await wait_all_tasks_blocked()
        go.set()
        for _ in range(ticks):
            await trio.lowlevel.checkpoint()
        over.set()
        if how == "cancel":
            run.cancel()
        else:
            await run.events.aclose()
    assert late == []


@pytest.mark.fault(
    "consumer",
    "The consumer awaits the completion and reads no events",
    "The wait lasts until a task closes the events, reads them or cancels",
)
@pytest.mark.fault(
    "consumer",
    "A caller cancels the consumer's wait for the completion",
    "The consumer can wait again and receives the same completion",
)
@pytest.mark.fault(
    "consumer", "Several tasks await the completion, before and after the end", "All receive the same completion"
)
@pytest.mark.rule("F1", "F5")
@pytest.mark.parametrize("way_out", ["close", "cancel", "read"])
async def test_a_completion_that_is_awaited_unread(autojump_clock: MockClock, way_out: str) -> None:
    async with running([*SCRIPT]) as (run, _), trio.open_nursery() as nursery:
        got: list[Completion | BackendError] = []

        async def wait() -> None:
            try:
                got.append(await run.wait_completed())
            except BackendError as error:
                got.append(error)

        with trio.move_on_after(100) as scope:
            await run.wait_completed()
        assert scope.cancelled_caught
        nursery.start_soon(wait)
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert not got
        if way_out == "close":
            await run.events.aclose()
        elif way_out == "cancel":
            run.cancel()
        else:
            assert len(await texts(run)) == COUNT
        await wait()
    await wait()
    assert len({id(outcome) for outcome in got}) == 1
    assert len(got) == 4
    assert isinstance(got[0], RunCancelled if way_out == "cancel" else Completion)
