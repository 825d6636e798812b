"""List the agents that the suites of all agents test: one row for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from tests.agents.agent_lines import AgentLines
from tests.agents.claude.sample_lines import CLAUDE_LINES
from tests.agents.codex.sample_lines import CODEX_LINES
from tests.agents.pi.sample_lines import PI_LINES

__all__ = ["AGENTS", "each_agent"]

AGENTS: Mapping[str, AgentLines] = MappingProxyType(
    {lines.kind: lines for lines in (CODEX_LINES, CLAUDE_LINES, PI_LINES)}
)
"""The lines of each agent, by kind."""

each_agent = pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
"""Run a test once for each agent; it receives the agent's lines as `agent`."""
