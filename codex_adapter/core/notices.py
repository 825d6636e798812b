"""Status and error events, which more than one part of the core and the runtime have to give (M1)."""

from __future__ import annotations

from codex_adapter.events import AGENT_KIND, Event, Facet

__all__ = ["error_event", "status_event"]


def status_event(seq: int, message: str | None = None, data: Facet | None = None) -> Event:
    """A status event (M1)."""
    return Event(seq, AGENT_KIND, "status", "status", None, message, data)


def error_event(seq: int, message: str, data: Facet | None = None) -> Event:
    """An error event; those of the adapter itself have no data (M1, M8)."""
    return Event(seq, AGENT_KIND, "error", "error", None, message, data)
