"""The last message of an agent, whole, put together from the events of its run (O15, I17)."""

from __future__ import annotations

from collections.abc import Sequence

from codex_adapter.events import Event

__all__ = ["LastMessage"]


class LastMessage:
    """The text of an agent's last message, put together from events: a completion has the beginning of a long one."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    @property
    def text(self) -> str | None:
        """The text; None while there was no message."""
        return "".join(self._parts) if self._parts else None

    def take(self, events: Sequence[Event]) -> None:
        """Look at the next events of the run."""
        for event in events:
            if getattr(event.data, "item_type", None) == "agent_message" and _is_whole(event):
                if getattr(event.data, "part", 1) == 1:
                    self._parts = []
                self._parts.append(event.text or "")


def _is_whole(event: Event) -> bool:
    """Whether its text, or the parts of it together, are a message that is complete, and no piece of a growing one."""
    return getattr(event.data, "phase", None) == "complete"
