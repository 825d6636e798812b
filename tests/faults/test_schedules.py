"""Test random orders of agent, consumer, owner and clock: one correct completion and no lost event."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from ..agents.agent_lines import AgentLines
from ..agents.table import each_agent
from .schedules import plans, play
from .verdict import Verdict

AS_MANY = max(300, settings().max_examples)


@pytest.mark.rule(
    "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "D1", "D2", "D3", "D4", "K1", "K2", "K3", "K5", "K6", "M9"
)
@pytest.mark.fault(
    "timing",
    "Agent, consumer, owner and clock act in random order",
    "The last record is one correct completion; no event is lost, repeated or reordered",
)
@settings(max_examples=AS_MANY, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
@each_agent
def test_every_schedule_has_one_true_outcome_and_loses_no_event(agent: AgentLines, data: st.DataObject) -> None:
    plan = data.draw(plans(agent))
    trace = play(plan)
    note("\n".join(map(str, trace)))
    verdict = Verdict(plan, trace)
    event(verdict.summary)
    verdict.check()
