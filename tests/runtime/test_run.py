"""The run handle over a scripted source: order, time limits, and the gate before the completion."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_adapter import (
    BackendError,
    CodexConfig,
    Completion,
    Event,
    ExitStatus,
    Pipeline,
    RunCancelled,
    RunHandle,
    RunTimedOut,
)
from codex_adapter.runtime.backend import carried
from codex_adapter.runtime.session import SessionExpectation
from codex_adapter.testing.source import EXIT, ScriptedSource, Step

THREAD = b'{"type":"thread.started","thread_id":"01a20018-057d-7ce3-b0c7-a173a1ba2c6a"}\n'
TURN = b'{"type":"turn.started"}\n'
DONE = b'{"type":"turn.completed","usage":{"input_tokens":3}}\n'
RECONNECT = b'{"type":"error","message":"Reconnecting... 2/5"}\n'


def say(text: str, number: int = 0) -> bytes:
    item = {"id": f"item_{number}", "type": "agent_message", "text": text}
    return msgspec.json.encode({"type": "item.completed", "item": item}) + b"\n"


def tool(kind: str, number: int = 1) -> bytes:
    item = {"id": f"item_{number}", "type": "command_execution", "command": "make", "status": "in_progress"}
    return msgspec.json.encode({"type": f"item.{kind}", "item": item}) + b"\n"


TURN_OF_ONE_MESSAGE = [THREAD, TURN, say("hello"), DONE]


@asynccontextmanager
async def running(
    script: list[Step],
    *,
    timeout: float | None = None,
    session: SessionExpectation | None = None,
    config: CodexConfig | None = None,
    **source: Any,
) -> AsyncIterator[tuple[RunHandle, ScriptedSource]]:
    scripted = ScriptedSource(script, **source)
    handle = RunHandle(scripted, Pipeline(), config=config or CodexConfig(), timeout=timeout, session=session)
    async with carried(handle) as run:
        yield run, scripted


async def texts(run: RunHandle) -> list[str | None]:
    return [event.text or event.message async for event in run.events]


@pytest.mark.rule("D1", "D2", "F2")
async def test_events_come_live_in_order_and_then_the_completion() -> None:
    more = trio.Event()
    async with running([THREAD, TURN, say("a"), more, say("b", 1), DONE]) as (run, _):
        assert [(await run.events.receive()).kind for _ in range(3)] == ["status", "status", "text_output"]
        assert run.session_id == "01a20018-057d-7ce3-b0c7-a173a1ba2c6a"
        more.set()
        assert [event.kind async for event in run.events] == ["text_output", "status"]
        completion = await run.wait_completed()
    assert completion.final_text == "b"
    assert completion.status == ExitStatus(code=0)
    assert completion.turn == "completed"
    assert completion.usage == {"input_tokens": 3}
    assert completion.data is None


@pytest.mark.rule("F1")
async def test_completion_waits_for_the_consumer_to_see_the_end() -> None:
    async with running([*TURN_OF_ONE_MESSAGE]) as (run, _), trio.open_nursery() as nursery:
        got: list[Completion] = []

        async def wait() -> None:
            got.append(await run.wait_completed())

        nursery.start_soon(wait)
        for _ in range(4):
            await run.events.receive()
        await wait_all_tasks_blocked()
        assert not got
        with pytest.raises(trio.EndOfChannel):
            await run.events.receive()
        await wait_all_tasks_blocked()
        assert got


@pytest.mark.rule("F1", "D3")
async def test_leaving_the_events_opens_the_gate_and_the_run_goes_on_to_its_end() -> None:
    async with running([THREAD, TURN, *(say("x", n) for n in range(200)), say("last", 200), DONE]) as (run, source):
        await run.events.receive()
        await run.events.aclose()
        assert (await run.wait_completed()).final_text == "last"
        with pytest.raises(trio.ClosedResourceError):
            await run.events.receive()
    assert source.calls == ["aclose"]


@pytest.mark.rule("F3")
async def test_a_failed_agent_completes_with_its_status_and_says_so_last() -> None:
    async with running([*TURN_OF_ONE_MESSAGE], status=ExitStatus(code=3)) as (run, _):
        assert (await texts(run))[-1] == "codex exited non-zero: exit status: 3 (stderr redacted)"
        completion = await run.wait_completed()
    assert completion.status == ExitStatus(code=3)
    assert completion.final_text is None


@pytest.mark.rule("F3", "X4")
async def test_an_agent_killed_by_a_signal_completes_with_the_signal() -> None:
    async with running([THREAD], status=ExitStatus(signal="SIGKILL")) as (run, _):
        assert (await texts(run))[-1] == "codex exited non-zero: signal: 9 (SIGKILL) (stderr redacted)"
        assert (await run.wait_completed()).status.signal == "SIGKILL"


@pytest.mark.rule("F2")
async def test_a_turn_without_its_end_is_cut_off() -> None:
    async with running([THREAD, TURN, say("half")]) as (run, _):
        await run.events.aclose()
        assert (await run.wait_completed()).turn == "cut_off"


@pytest.mark.rule("F5")
async def test_the_completion_is_the_same_every_time_and_for_every_task() -> None:
    async with running([*TURN_OF_ONE_MESSAGE]) as (run, _), trio.open_nursery() as nursery:
        got: list[Completion] = []

        async def wait() -> None:
            got.append(await run.wait_completed())

        nursery.start_soon(wait)
        nursery.start_soon(wait)
        await run.events.aclose()
        got.append(await run.wait_completed())
    assert got[0] is got[1] is got[2]


@pytest.mark.rule("F6")
async def test_a_cancel_before_the_completion_was_given_out_wins() -> None:
    async with running([*TURN_OF_ONE_MESSAGE]) as (run, _):
        assert len(await texts(run)) == 4
        run.cancel()
        with pytest.raises(RunCancelled, match=r"\Acancelled\Z"):
            await run.wait_completed()


@pytest.mark.rule("F6", "K3")
async def test_a_cancel_after_the_completion_was_given_out_changes_nothing() -> None:
    async with running([*TURN_OF_ONE_MESSAGE]) as (run, _):
        await run.events.aclose()
        completion = await run.wait_completed()
        run.cancel()
        run.cancel()
        assert await run.wait_completed() is completion


@pytest.mark.rule("K3")
async def test_cancel_ends_the_events_at_once_and_completes_after_the_exit(autojump_clock: MockClock) -> None:
    async with running([THREAD, TURN, math.inf], stubborn=3.0) as (run, source):
        await run.events.receive()
        run.cancel()
        run.cancel()
        assert [event async for event in run.events] == []
        assert trio.current_time() == 0.0
        with pytest.raises(RunCancelled):
            await run.wait_completed()
        assert trio.current_time() == 3.0
    assert source.calls.count("stop") == 1


@pytest.mark.rule("K3")
async def test_cancel_drops_events_that_were_handed_over_and_not_yet_taken() -> None:
    async with running([THREAD + TURN + say("a") + say("b"), math.inf]) as (run, _):
        await run.events.receive()
        run.cancel()
        with pytest.raises(trio.EndOfChannel):
            await run.events.receive()


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


@pytest.mark.rule("K2")
async def test_reconnect_notices_and_garbage_are_no_progress(autojump_clock: MockClock) -> None:
    script: list[Step] = [THREAD, *(step for _ in range(100) for step in (1.0, RECONNECT, b"garbage\n"))]
    async with running(script, config=CodexConfig(idle_timeout=5.0)) as (run, _):
        await run.events.aclose()
        with pytest.raises(RunTimedOut):
            await run.wait_completed()
    assert trio.current_time() == 5.0


@pytest.mark.rule("K2")
async def test_the_idle_clock_stands_still_while_a_tool_is_open(autojump_clock: MockClock) -> None:
    script: list[Step] = [THREAD, TURN, tool("started"), 600.0, tool("completed"), math.inf]
    async with running(script, config=CodexConfig(idle_timeout=5.0)) as (run, _):
        await run.events.aclose()
        with pytest.raises(RunTimedOut):
            await run.wait_completed()
    assert trio.current_time() == 605.0


@pytest.mark.rule("K2")
async def test_an_open_tool_call_has_a_limit_of_its_own(autojump_clock: MockClock) -> None:
    script: list[Step] = [THREAD, TURN, 7.0, tool("started"), 3.0, tool("started", 2), math.inf]
    async with running(script, config=CodexConfig(tool_timeout=20.0)) as (run, _):
        await run.events.aclose()
        with pytest.raises(RunTimedOut):
            await run.wait_completed()
    assert trio.current_time() == 27.0


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


@pytest.mark.rule("F7")
async def test_output_held_open_after_the_exit_is_read_for_a_grace_only(autojump_clock: MockClock) -> None:
    script: list[Step] = [*TURN_OF_ONE_MESSAGE, EXIT, 1.0, say("late", 9), math.inf]
    async with running(script, held=True) as (run, source):
        assert (await texts(run))[-1] == "late"
        assert (await run.wait_completed()).final_text == "late"
    assert trio.current_time() == 2.0
    assert "close_output" in source.calls


@pytest.mark.rule("F8")
async def test_output_closed_in_mid_turn_by_a_living_agent_fails_the_run(autojump_clock: MockClock) -> None:
    async with running([THREAD, TURN, say("a")], held=False) as (run, source):
        source._exits_by_script = True
        assert (await texts(run))[-1] == "codex stream closed unexpectedly"
        with pytest.raises(BackendError, match=r"\Acodex stream closed unexpectedly\Z"):
            await run.wait_completed()
    assert trio.current_time() == 10.0


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


@pytest.mark.rule("K6")
async def test_a_new_turn_calls_the_lingering_clock_off(autojump_clock: MockClock) -> None:
    script: list[Step] = [*TURN_OF_ONE_MESSAGE, 9.0, TURN, 9.0, say("again"), 9.0, DONE]
    async with running(script) as (run, _):
        await run.events.aclose()
        assert (await run.wait_completed()).final_text == "again"


@pytest.mark.rule("K5")
async def test_the_callers_own_exception_leaves_unwrapped_and_ends_the_run(autojump_clock: MockClock) -> None:
    with pytest.raises(KeyError, match="mine"):  # noqa: PT012 - the block is the subject
        async with running([THREAD, math.inf], stubborn=2.0) as (run, source):
            await run.events.receive()
            raise KeyError("mine")
    assert source.calls[0] == "stop"
    assert source.calls[-1] == "aclose"
    assert trio.current_time() == 2.0


@pytest.mark.rule("K5")
async def test_a_cancelled_scope_ends_the_run_before_control_comes_back(autojump_clock: MockClock) -> None:
    with trio.move_on_after(5) as scope:
        async with running([THREAD, math.inf], stubborn=2.0) as (run, source):
            async for _ in run.events:
                pass
    assert scope.cancelled_caught
    assert source.calls[-1] == "aclose"
    assert trio.current_time() == 7.0


@pytest.mark.rule("K5")
async def test_leaving_the_block_normally_drains_the_run(autojump_clock: MockClock) -> None:
    async with running([THREAD, 50.0, say("a"), DONE]) as (_, source):
        pass
    assert trio.current_time() == 50.0
    assert source.calls == ["aclose"]


@pytest.mark.rule("K4")
async def test_a_run_being_ended_reads_on_though_its_consumer_does_not(autojump_clock: MockClock) -> None:
    flood = [say("x" * 1000, n) for n in range(500)]
    async with running([THREAD, *flood, math.inf], timeout=10.0) as (run, source):
        await trio.sleep(100)  # the consumer sleeps, so the run's own clock stands still
        run.kill()
        with pytest.raises(RunCancelled):
            await run.wait_completed()
    assert "kill" in source.calls


@pytest.mark.rule("F4", "X2")
async def test_a_broken_source_is_the_outcome_and_the_last_event() -> None:
    text = "codex backend error: io (details redacted when unsafe)"
    async with running([THREAD, BackendError("io", text)]) as (run, _):
        assert (await texts(run))[-1] == text
        with pytest.raises(BackendError) as caught:
            await run.wait_completed()
    assert caught.value.failure == "io"


@pytest.mark.rule("S9")
async def test_another_thread_than_the_one_to_resume_ends_the_run(autojump_clock: MockClock) -> None:
    session = SessionExpectation("0190a0b0-0000-7000-8000-000000000000", fork=False)
    async with running([THREAD, TURN, say("wrong"), math.inf], session=session) as (run, _):
        assert await texts(run) == ["session not found"]
        with pytest.raises(BackendError, match=r"\Asession not found\Z"):
            await run.wait_completed()
    assert trio.current_time() == 0.0


@pytest.mark.rule("S9")
async def test_a_thread_born_during_the_run_is_not_the_last_session() -> None:
    session = SessionExpectation(None, fork=False, started_ms=0x01A20018057D)
    async with running([*TURN_OF_ONE_MESSAGE], session=session) as (run, _):
        assert await texts(run) == ["no session found"]
        with pytest.raises(BackendError, match=r"\Ano session found\Z"):
            await run.wait_completed()


@pytest.mark.rule("S9")
async def test_an_older_thread_is_the_last_session() -> None:
    session = SessionExpectation(None, fork=False, started_ms=0x01A20018057E)
    async with running([*TURN_OF_ONE_MESSAGE], session=session) as (run, _):
        await run.events.aclose()
        assert (await run.wait_completed()).final_text == "hello"


@pytest.mark.rule("S9")
async def test_an_agent_that_says_so_lacks_the_session() -> None:
    session = SessionExpectation("0190a0b0-0000-7000-8000-000000000000", fork=True)
    async with running([], status=ExitStatus(code=1), session=session, session_missing=True) as (run, _):
        assert await texts(run) == ["session not found"]
        with pytest.raises(BackendError, match=r"\Asession not found\Z"):
            await run.wait_completed()
