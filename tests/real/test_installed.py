"""Test that the real program of each agent is installed where it must be, so that no test of it is skipped."""

from __future__ import annotations

import os

import pytest

from codex_adapter.agents import agent_of

from ..needs import has_no_such_case

pytestmark = [pytest.mark.real, pytest.mark.smoke, pytest.mark.rule("R3")]

VARIABLE = "REAL_AGENTS"


@pytest.mark.parametrize("kind", os.environ.get(VARIABLE, "").split() or [None])
def test_an_agent_that_must_be_installed_is_installed(kind: str | None) -> None:
    if kind is None:
        has_no_such_case(f"{VARIABLE} names no agent whose real program must be installed")
    agent = agent_of(kind)
    assert os.access(agent.find_program(agent.config_type(), os.environ), os.X_OK)
