"""Test that a consumer receives results for all open tool calls when the adapter ends the run."""

from __future__ import annotations

import math
import time

import pytest
from trio.testing import MockClock

from codex_adapter import BackendError, CodexConfig, ExitStatus, RunCancelled, RunHandle, RunTimedOut
from codex_adapter.agents.codex.session import SessionExpectation
from codex_adapter.events import ToolCall
from codex_adapter.testing.source import EXIT, Step

from .scripted import DONE, RECONNECT, THREAD, TURN, running, say, tool

pytestmark = pytest.mark.rule("M9")
TIMEOUT = "codex backend error: timeout (details redacted when unsafe)"


async def told(run: RunHandle) -> list[str | None]:
    """The events of a run in a word each, numbered without gaps."""
    events = [event async for event in run.events]
    assert [event.seq for event in events] == list(range(len(events)))
    return [
        f"{event.data.tool.backend_item_id} {event.data.tool.status}"
        if isinstance(event.data, ToolCall)
        else event.text or event.message
        for event in events
    ]


@pytest.mark.rule("K1", "F4")
@pytest.mark.fault(
    "timing",
    "The timeout expires while a tool runs",
    "The adapter closes the call and then emits the error with the reason",
)
async def test_a_timeout_closes_the_open_calls_before_it_says_why(autojump_clock: MockClock) -> None:
    script: list[Step] = [THREAD, TURN, tool("started", 2), tool("started", 1), math.inf]
    async with running(script, timeout=30.0) as (run, _):
        words = await told(run)
        assert words[2:] == ["item_2 running", "item_1 running", "item_2 unknown", "item_1 unknown", TIMEOUT]
        with pytest.raises(RunTimedOut):
            await run.wait_completed()


@pytest.mark.rule("K2")
async def test_so_does_the_limit_of_a_tool(autojump_clock: MockClock) -> None:
    config = CodexConfig(tool_timeout=5.0)
    async with running([THREAD, TURN, tool("started"), math.inf], config=config) as (run, _):
        assert (await told(run))[2:] == ["item_1 running", "item_1 unknown", TIMEOUT]
        with pytest.raises(RunTimedOut):
            await run.wait_completed()


@pytest.mark.rule("K4")
async def test_what_the_agent_says_while_it_is_ended_changes_nothing(autojump_clock: MockClock) -> None:
    parting: list[Step] = [tool("completed"), tool("started", 3), b'{"type":"turn.failed"}\n', math.inf]
    async with running([THREAD, TURN, tool("started"), 6.0, *parting], timeout=5.0, stubborn=3.0) as (run, _):
        assert (await told(run))[2:] == ["item_1 running", "item_1 unknown", TIMEOUT]


@pytest.mark.rule("K6")
async def test_a_call_after_the_turn_is_closed_when_a_lingering_agent_is_ended(autojump_clock: MockClock) -> None:
    script: list[Step] = [THREAD, TURN, say("done"), DONE, tool("started"), math.inf]
    async with running(script) as (run, _):
        assert (await told(run))[4:6] == ["item_1 running", "item_1 unknown"]
        completion = await run.wait_completed()
    assert (completion.turn, completion.final_text) == ("completed", "done")


@pytest.mark.rule("F8")
async def test_an_output_that_is_closed_in_mid_turn_closes_the_calls_at_once(autojump_clock: MockClock) -> None:
    async with running([THREAD, TURN, tool("started")]) as (run, source):
        source._exits_by_script = True
        assert (await told(run))[2:] == ["item_1 running", "item_1 unknown", "codex stream closed unexpectedly"]
        with pytest.raises(BackendError):
            await run.wait_completed()


@pytest.mark.rule("F2", "F3")
@pytest.mark.parametrize("status", [ExitStatus(code=0), ExitStatus(signal="SIGKILL")])
async def test_an_agent_that_exits_in_mid_turn_leaves_no_call_open(status: ExitStatus) -> None:
    async with running([THREAD, TURN, tool("started"), RECONNECT], status=status) as (run, _):
        words = await told(run)
        completion = await run.wait_completed()
    assert words[2:5] == ["item_1 running", "Reconnecting... 2/5", "item_1 unknown"]
    assert len(words) == 5 + (not status.success)
    assert (completion.turn, completion.status) == ("cut_off", status)


@pytest.mark.rule("K3")
async def test_a_cancelled_run_closes_nothing(autojump_clock: MockClock) -> None:
    async with running([THREAD, TURN, tool("started"), math.inf]) as (run, _):
        kinds = []
        async for event in run.events:
            kinds.append(event.kind)
            if event.kind == "tool_call":
                run.cancel()
        with pytest.raises(RunCancelled):
            await run.wait_completed()
    assert kinds == ["status", "status", "tool_call"]


@pytest.mark.rule("S9")
async def test_a_call_that_nobody_was_shown_is_not_closed(autojump_clock: MockClock) -> None:
    expected = SessionExpectation("0199", fork=False, started_ms=int(time.time() * 1000))
    async with running([THREAD + TURN + tool("started"), EXIT], session=expected) as (run, _):
        assert await told(run) == ["session not found"]
