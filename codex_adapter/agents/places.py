"""Collect the places of all agents that this package runs (H13, H14, H15)."""

from __future__ import annotations

from codex_adapter.agent_places import AgentPlaces
from codex_adapter.agents.codex.places import codex_places

__all__ = ["known_places"]


def known_places() -> tuple[AgentPlaces, ...]:
    """Return the places of every agent, whichever of them runs: a workspace keeps all of them out of reach."""
    return (codex_places(),)
