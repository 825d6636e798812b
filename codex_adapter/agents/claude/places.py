"""Locate the settings and logins of Claude Code (H13, H14, H15)."""

from __future__ import annotations

from codex_adapter.agent_places import AgentPlaces

__all__ = ["claude_places"]


def claude_places() -> AgentPlaces:
    """Return the places of Claude Code, whichever program a run executes. It brings no bubblewrap."""
    return AgentPlaces(
        settings=frozenset({".claude"}), logins=(".claude", ".claude.json"), variables=("CLAUDE_CONFIG_DIR",)
    )
