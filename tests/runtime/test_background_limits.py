"""Test that a tool call in the background does not change the limits of a run."""

from __future__ import annotations

import math

import pytest

from codex_adapter.core.state import StreamState
from codex_adapter.events import Tool, ToolBytes
from codex_adapter.runtime.limits import Limit, Limits

CALL = Tool("t", None, None, "command_execution", "start", "running", None, ToolBytes(), "Bash", "t")


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
