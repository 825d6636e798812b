"""Test that slow masking of a line blocks no other task, and that the run can end meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import trio

from codex_adapter import BackendError, Event, Pipeline, RunCancelled, RunHandle
from codex_adapter.runtime.run import Run

from .scripted import DONE, THREAD, TURN, running, say, tool

LONG = say("word " * 100_000)


class Gate:
    """Stands before each long line, in whichever thread, until it is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.thread: threading.Thread | None = None
        self.reached = trio.Event()

    def pass_through(self) -> None:
        self.thread = threading.current_thread()
        trio.from_thread.run_sync(self.reached.set)
        self.open.wait()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    found = Gate()
    receive = Pipeline.receive_data

    def held(self: Pipeline, data: bytes) -> list[Event]:
        if len(data) >= len(LONG):
            found.pass_through()
        return receive(self, data)

    monkeypatch.setattr(Pipeline, "receive_data", held)
    yield found
    found.open.set()


async def first(run: RunHandle, count: int) -> list[Event]:
    return [await run.events.receive() for _ in range(count)]


@pytest.mark.rule("J9", "X7")
async def test_a_long_line_is_processed_beside_the_event_loop(gate: Gate) -> None:
    async with running([THREAD, TURN, LONG, DONE]) as (run, _):
        seen = await first(run, 2)
        await gate.reached.wait()
        assert gate.thread is not threading.current_thread()
        # Everything else goes on: here, another run from its beginning to its end.
        async with running([THREAD, TURN, say("hello"), DONE]) as (other, _):
            await other.events.aclose()
            assert (await other.wait_completed()).final_text == "hello"
        gate.open.set()
        seen += [event async for event in run.events]
        completion = await run.wait_completed()
    assert [event.seq for event in seen] == list(range(len(seen)))
    assert "".join(event.text or "" for event in seen) == "word " * 100_000
    assert completion.turn == "completed"


@pytest.mark.rule("J9", "K2")
async def test_no_time_limit_runs_out_while_a_line_is_processed(gate: Gate, autojump_clock: trio.abc.Clock) -> None:
    async with running([THREAD, TURN, LONG, DONE], timeout=5.0) as (run, _):
        await first(run, 2)
        await gate.reached.wait()
        await trio.sleep(60)
        gate.open.set()
        await run.events.aclose()
        assert (await run.wait_completed()).turn == "completed"


@pytest.mark.rule("J9", "M9")
async def test_a_run_that_fails_meanwhile_closes_the_tools_that_its_consumer_knows(gate: Gate) -> None:
    async with running([THREAD, TURN, tool("started"), tool("completed") + tool("started", 2) + LONG]) as (run, _):
        assert isinstance(run, Run)
        seen = await first(run, 3)
        await gate.reached.wait()
        run._fail(BackendError("io"))
        gate.open.set()
        events = [*seen, *[event async for event in run.events]]
        with pytest.raises(BackendError):
            await run.wait_completed()
    assert [event.kind for event in events] == ["status", "status", "tool_call", "tool_result", "error"]
    assert [event.seq for event in events] == list(range(5))


@pytest.mark.rule("J9", "K3")
async def test_a_run_that_is_cancelled_meanwhile_ends_when_the_line_is_done(gate: Gate) -> None:
    async with running([THREAD, TURN, LONG, DONE]) as (run, _):
        await first(run, 2)
        await gate.reached.wait()
        run.cancel()
        assert [event async for event in run.events] == []
        gate.open.set()
        with pytest.raises(RunCancelled):
            await run.wait_completed()
