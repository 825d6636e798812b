"""Test the run handle with a scripted source: order, completion, and the end of the block."""

from __future__ import annotations

import math

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_adapter import (
    BackendError,
    Completion,
    ExitStatus,
    RunCancelled,
)
from codex_adapter.agents.codex.session import SessionExpectation

from .scripted import DONE, THREAD, TURN, TURN_OF_ONE_MESSAGE, running, say, texts


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


@pytest.mark.fault(
    "timing", "A cancel occurs after the last event and before the completion is delivered", "The run is cancelled"
)
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


@pytest.mark.rule("K5")
async def test_the_callers_own_exception_leaves_unwrapped_and_ends_the_run(autojump_clock: MockClock) -> None:
    with pytest.raises(KeyError, match="mine"):  # noqa: PT012 - the block is the subject
        async with running([THREAD, math.inf], stubborn=2.0) as (run, source):
            await run.events.receive()
            raise KeyError("mine")
    assert source.calls[0] == "stop"
    assert source.calls[-1] == "aclose"
    assert trio.current_time() == 2.0


@pytest.mark.fault(
    "timing", "A deadline of the caller expires inside the block", "The agent ends before the block returns control"
)
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


@pytest.mark.fault(
    "timing",
    "A caller kills the run after its consumer stopped reading",
    "The adapter continues to read and the run ends",
)
@pytest.mark.rule("K4")
async def test_a_run_being_ended_reads_on_though_its_consumer_does_not(autojump_clock: MockClock) -> None:
    flood = [say("x" * 1000, n) for n in range(500)]
    async with running([THREAD, *flood, math.inf], timeout=10.0) as (run, source):
        await trio.sleep(100)  # the consumer sleeps, so the run's own clock stands still
        run.kill()
        with pytest.raises(RunCancelled):
            await run.wait_completed()
    assert "kill" in source.calls


@pytest.mark.fault("stream", "Reading stdout fails", "The last event and the outcome report this failure")
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
    async with running(
        [], status=ExitStatus(code=1), session=session, stderr=b"no rollout found for thread id x\n"
    ) as (run, _):
        assert await texts(run) == ["session not found"]
        with pytest.raises(BackendError, match=r"\Asession not found\Z"):
            await run.wait_completed()
