"""Test the limits of a run while a tool call continues in the background."""

from __future__ import annotations

import math
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from codex_adapter import RunConfig, RunHandle, RunTimedOut
from codex_adapter.core.state import StreamState
from codex_adapter.events import Tool, ToolBytes, ToolCall
from codex_adapter.runtime.limits import Limit, Limits
from codex_adapter.testing.source import EXIT, Step
from tests.agents.agent_lines import as_line
from tests.agents.claude.sample_lines import CLAUDE_LINES
from tests.agents.claude.stream.stream_lines import answered, system

from .scripted import running

CALL = Tool("t", None, None, "command_execution", "start", "running", None, ToolBytes(), "Bash", "t")
WAITING: list[Step] = [
    CLAUDE_LINES.turn,
    CLAUDE_LINES.tool("started"),
    as_line(answered("toolu_1", "started", known={"backgroundTaskId": "b"})),
    CLAUDE_LINES.message("waiting"),
    CLAUDE_LINES.completed(),
]
"""A turn that is completed while its command continues in the background."""
ENDED = as_line(system("task_notification", task_id="b", tool_use_id="toolu_1", status="completed"))
GRACE = RunConfig(exit_grace=10.0)


async def statuses(run: RunHandle) -> list[str]:
    """Return the statuses of the calls of a run, after its end."""
    return [event.data.tool.status async for event in run.events if isinstance(event.data, ToolCall)]


@pytest.mark.rule("K2", "M15")
def test_a_call_in_the_background_has_no_limit_and_does_not_stop_the_idle_clock() -> None:
    state, limits = StreamState("toy"), Limits(timeout=None, idle=30, tool=5, exit_grace=10)
    state.turn_started()
    state.lines_received(1)
    limits.observe(state, 0)
    assert limits.next() == (30, Limit.IDLE)
    state.tool_opened("t", CALL)
    limits.observe(state, 1)
    assert limits.next() == (6, Limit.TOOL)
    state.tool_backgrounded("t", CALL)
    limits.observe(state, 2)
    assert limits.next() == (30, Limit.IDLE)
    assert state.close_tools(background=False) == []
    assert len(state.close_tools()) == 1
    assert limits.next()[0] < math.inf


@pytest.mark.rule("K6")
def test_the_grace_begins_when_neither_a_turn_nor_a_call_in_the_background_is_left() -> None:
    state, limits = StreamState("toy"), Limits(idle=30, tool=5, exit_grace=10)

    def at(now: float) -> tuple[float, Limit]:
        limits.observe(state, now)
        return limits.next()

    state.turn_started()
    state.tool_opened("t", CALL)
    state.tool_backgrounded("t", CALL)
    state.turn_completed()
    state.lines_received(1)
    assert at(1) == (31, Limit.LINGER)
    state.tool_opened("u", CALL)  # of a sub-agent in the background
    assert at(2) == (7, Limit.TOOL)
    state.tool_closed("u")
    state.lines_received(1)
    assert at(3) == (33, Limit.LINGER)
    state.background_closed("t")
    assert at(4) == (14, Limit.LINGER)
    state.turn_started()
    assert at(5) == (33, Limit.IDLE)
    state.turn_completed()
    assert at(6) == (16, Limit.LINGER)


@pytest.mark.rule("K6")
def test_an_agent_without_output_has_no_more_than_the_grace() -> None:
    state, limits = StreamState("toy"), Limits(exit_grace=10)
    state.turn_started()
    state.tool_opened("t", CALL)
    state.tool_backgrounded("t", CALL)
    state.turn_completed()
    limits.observe(state, 1)
    assert limits.next()[0] == math.inf
    limits.record_output_end(5)
    assert limits.next() == (15, Limit.LINGER)


@pytest.mark.rule("K6", "AG10")
async def test_an_agent_that_waits_for_its_background_continues_when_that_ends(autojump_clock: MockClock) -> None:
    again: list[Step] = [CLAUDE_LINES.turn, CLAUDE_LINES.message("all done"), CLAUDE_LINES.completed(), EXIT]
    async with running([*WAITING, 5000.0, ENDED, 5.0, *again], config=GRACE, lines=CLAUDE_LINES) as (run, source):
        assert await statuses(run) == ["running", "running", "completed"]
        completion = await run.wait_completed()
    assert (completion.final_text, completion.ok) == ("all done", True)
    assert "stop" not in source.calls


@pytest.mark.rule("K1", "K2", "K6")
@pytest.mark.parametrize(
    ("steps", "config", "seconds"),
    [
        pytest.param([math.inf], {"idle_timeout": 60.0}, 60.0, id="idle"),
        pytest.param([45.0, CLAUDE_LINES.message("still"), math.inf], {"idle_timeout": 60.0}, 105.0, id="progress"),
        pytest.param([100.0, ENDED, math.inf], {}, 110.0, id="no further turn"),
        pytest.param([math.inf], {}, 200.0, id="timeout"),
    ],
)
async def test_an_agent_that_waits_too_long_is_ended_with_its_answer(
    autojump_clock: MockClock, steps: list[Step], config: dict[str, Any], seconds: float
) -> None:
    settings = RunConfig(exit_grace=10.0, **config)
    async with running([*WAITING, *steps], config=settings, lines=CLAUDE_LINES, timeout=200.0) as (run, source):
        started = trio.current_time()
        found = await statuses(run)
        assert trio.current_time() - started == pytest.approx(seconds)
        completion = await run.wait_completed()
    assert found == ["running", "running", "completed" if ENDED in steps else "unknown"]
    assert completion.turn == "completed"
    assert completion.final_text in ("waiting", "still")
    assert "stop" in source.calls


@pytest.mark.rule("K1", "K6")
async def test_a_turn_that_follows_has_the_limits_of_a_turn(autojump_clock: MockClock) -> None:
    steps: list[Step] = [*WAITING, 20.0, ENDED, CLAUDE_LINES.turn, math.inf]
    async with running(steps, config=GRACE, lines=CLAUDE_LINES, timeout=50.0) as (run, _):
        assert await statuses(run) == ["running", "running", "completed"]
        with pytest.raises(RunTimedOut):
            await run.wait_completed()
