"""Make status and error events (M1)."""

from __future__ import annotations

from codex_adapter.events import Event, Facet

__all__ = ["error_event", "status_event"]


def status_event(agent_kind: str, message: str | None = None, data: Facet | None = None) -> Event:
    """Return a status event without a number (M1)."""
    return Event(0, agent_kind, "status", "status", None, message, data)


def error_event(agent_kind: str, message: str, data: Facet | None = None) -> Event:
    """Return an error event without a number. The adapter's own errors have no data (M1, M8)."""
    return Event(0, agent_kind, "error", "error", None, message, data)
