"""Collect the places of all agents that are installed (H13, H14, H15)."""

from __future__ import annotations

from codex_adapter.agent_places import AgentPlaces
from codex_adapter.agents import agent_of, kinds

__all__ = ["known_places"]


def known_places(chosen: str | None = None, program: str | None = None) -> tuple[AgentPlaces, ...]:
    """Return the places of every agent, whichever of them runs: a workspace keeps all of them out of reach.

    The agent of the kind `chosen` has this `program`, the others those of their runs.
    """
    return tuple(agent_of(kind).places(program if kind == chosen else None) for kind in kinds())
