"""Test time limits, grace periods and slow consumers with a mock clock."""

from __future__ import annotations

import math

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_adapter import (
    BackendError,
    CodexConfig,
    Event,
    ExitStatus,
    RunTimedOut,
)
from codex_adapter.testing.source import EXIT, Step

from .scripted import DONE, RECONNECT, THREAD, TURN, TURN_OF_ONE_MESSAGE, running, say, texts, tool


@pytest.mark.fault("timing", "The timeout expires", "The last event and the outcome report it")
@pytest.mark.rule("K1")
async def test_a_timeout_is_the_last_event_and_the_completion(autojump_clock: MockClock) -> None:
    text = "codex backend error: timeout (details redacted when unsafe)"
    async with running([THREAD, math.inf], timeout=30.0, stubborn=1.0) as (run, _):
        assert (await texts(run))[-1] == text
        with pytest.raises(RunTimedOut, match="timeout") as caught:
            await run.wait_completed()
    assert str(caught.value) == text
    assert trio.current_time() == 31.0


@pytest.mark.rule("K2")
async def test_no_progress_is_an_idle_timeout(autojump_clock: MockClock) -> None:
    config = CodexConfig(idle_timeout=1.5)
    async with running([THREAD, 1.0, TURN, 1.0, say("a"), math.inf], config=config) as (run, _):
        assert (await texts(run))[-1] == "codex stream idle timeout: 1.5s"
        with pytest.raises(RunTimedOut, match=r"\Acodex stream idle timeout: 1\.5s\Z"):
            await run.wait_completed()
    assert trio.current_time() == 3.5


@pytest.mark.fault(
    "timing", "Only reconnect notices and garbage arrive for longer than the idle timeout", "The idle timeout expires"
)
@pytest.mark.rule("K2")
async def test_reconnect_notices_and_garbage_are_no_progress(autojump_clock: MockClock) -> None:
    script: list[Step] = [THREAD, *(step for _ in range(100) for step in (1.0, RECONNECT, b"garbage\n"))]
    async with running(script, config=CodexConfig(idle_timeout=5.0)) as (run, _):
        await run.events.aclose()
        with pytest.raises(RunTimedOut):
            await run.wait_completed()
    assert trio.current_time() == 5.0


@pytest.mark.fault("timing", "A tool runs far longer than the idle timeout", "The idle timer pauses")
@pytest.mark.rule("K2")
async def test_the_idle_clock_stands_still_while_a_tool_is_open(autojump_clock: MockClock) -> None:
    script: list[Step] = [THREAD, TURN, tool("started"), 600.0, tool("completed"), math.inf]
    async with running(script, config=CodexConfig(idle_timeout=5.0)) as (run, _):
        await run.events.aclose()
        with pytest.raises(RunTimedOut):
            await run.wait_completed()
    assert trio.current_time() == 605.0


@pytest.mark.fault("timing", "A tool call never ends", "Its own time limit expires, counted from its start")
@pytest.mark.rule("K2")
async def test_an_open_tool_call_has_a_limit_of_its_own(autojump_clock: MockClock) -> None:
    script: list[Step] = [THREAD, TURN, 7.0, tool("started"), 3.0, tool("started", 2), math.inf]
    async with running(script, config=CodexConfig(tool_timeout=20.0)) as (run, _):
        await run.events.aclose()
        with pytest.raises(RunTimedOut):
            await run.wait_completed()
    assert trio.current_time() == 27.0


@pytest.mark.fault("timing", "The consumer needs longer for each event than any limit", "No limit expires")
@pytest.mark.rule("D4")
async def test_time_spent_waiting_for_the_consumer_counts_nowhere(autojump_clock: MockClock) -> None:
    script: list[Step] = [THREAD, TURN, say("a"), 2.0, say("b", 1), DONE]
    async with running(script, timeout=3.0, config=CodexConfig(idle_timeout=3.0)) as (run, _):
        got: list[Event] = []
        async for event in run.events:
            got.append(event)
            await trio.sleep(100)
        assert len(got) == 5
        assert (await run.wait_completed()).final_text == "b"


@pytest.mark.fault(
    "consumer", "The consumer reads far slower than the agent prints", "No event is lost and no backlog grows"
)
@pytest.mark.rule("D4")
async def test_a_slow_consumer_loses_nothing_and_holds_no_more_than_its_share() -> None:
    lines = [say(str(n), n) for n in range(1000)]
    async with running([THREAD, *lines, DONE]) as (run, source):
        await wait_all_tasks_blocked()
        assert len(source._script) > 995
        got: list[str] = []
        while True:
            try:
                batch = await run.events.receive_batch()
            except trio.EndOfChannel:
                break
            got.extend(event.text for event in batch if event.text is not None)
            await trio.lowlevel.checkpoint()
    assert got == [str(n) for n in range(1000)]


@pytest.mark.fault(
    "timing",
    "A process keeps stdout open after the agent's exit",
    "The adapter reads for the grace period and then ends the run",
)
@pytest.mark.rule("F7")
async def test_output_held_open_after_the_exit_is_read_for_a_grace_only(autojump_clock: MockClock) -> None:
    script: list[Step] = [*TURN_OF_ONE_MESSAGE, EXIT, 1.0, say("late", 9), math.inf]
    async with running(script, held=True) as (run, source):
        assert (await texts(run))[-1] == "late"
        assert (await run.wait_completed()).final_text == "late"
    assert trio.current_time() == 2.0
    assert "close_output" in source.calls


@pytest.mark.fault(
    "timing", "The agent closes stdout during a turn and keeps running", "After the grace period the run fails"
)
@pytest.mark.rule("F8")
async def test_output_closed_in_mid_turn_by_a_living_agent_fails_the_run(autojump_clock: MockClock) -> None:
    async with running([THREAD, TURN, say("a")], held=False) as (run, source):
        source._exits_by_script = True
        assert (await texts(run))[-1] == "codex stream closed unexpectedly"
        with pytest.raises(BackendError, match=r"\Acodex stream closed unexpectedly\Z"):
            await run.wait_completed()
    assert trio.current_time() == 10.0


@pytest.mark.fault(
    "timing",
    "The agent keeps running after its turn",
    "The adapter ends it after the grace period and keeps its answer",
)
@pytest.mark.rule("K6")
async def test_an_agent_that_stays_after_its_turn_is_ended_and_keeps_its_answer(autojump_clock: MockClock) -> None:
    script: list[Step] = [*TURN_OF_ONE_MESSAGE, math.inf]
    async with running(script, status=ExitStatus(signal="SIGTERM")) as (run, _):
        await run.events.aclose()
        completion = await run.wait_completed()
    assert trio.current_time() == 10.0
    assert completion.status == ExitStatus(signal="SIGTERM")
    assert completion.final_text == "hello"
    assert completion.turn == "completed"


@pytest.mark.fault("timing", "A new turn starts within the grace period", "The adapter cancels the grace period")
@pytest.mark.rule("K6")
async def test_a_new_turn_calls_the_lingering_clock_off(autojump_clock: MockClock) -> None:
    script: list[Step] = [*TURN_OF_ONE_MESSAGE, 9.0, TURN, 9.0, say("again"), 9.0, DONE]
    async with running(script) as (run, _):
        await run.events.aclose()
        assert (await run.wait_completed()).final_text == "again"
