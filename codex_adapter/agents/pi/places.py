"""Locate the settings and logins of pi (H13, H14, H15)."""

from __future__ import annotations

from codex_adapter.agent_places import AgentPlaces

__all__ = ["pi_places"]


def pi_places() -> AgentPlaces:
    """Return the places of pi, whichever program a run executes. It brings no bubblewrap."""
    return AgentPlaces(
        settings=frozenset({".pi"}),
        logins=(".pi",),
        variables=("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"),
    )
