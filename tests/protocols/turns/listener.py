"""Receive and store the events of turns, and check that they follow the protocol."""

from __future__ import annotations

from typing import Any

import msgspec
import trio

from codex_adapter.protocols.turns.messages import AgentEvent, SessionCallbacks

__all__ = ["Listener"]


class Listener:
    """Keeps the events of one turn, as they are on the wire."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.answered = trio.Event()
        """Set once the assistant has said something."""

    @property
    def callbacks(self) -> SessionCallbacks:
        """To be told by."""
        return SessionCallbacks(self._hear)

    async def _hear(self, event: AgentEvent) -> None:
        await trio.lowlevel.checkpoint()
        self.told.append(msgspec.json.decode(msgspec.json.encode(event)))
        if self.told[-1].get("role") == "assistant":
            self.answered.set()

    @property
    def bare(self) -> list[dict[str, Any]]:
        """The events without what each has."""
        common = ("ts", "seq", "externalSessionId", "externalRunId", "harnessSessionId")
        return [{name: value for name, value in event.items() if name not in common} for event in self.told]

    @property
    def shape(self) -> list[str]:
        """The types of the events, with the state of those that have one."""
        return [" ".join([event["type"], *([event["state"]] if "state" in event else [])]) for event in self.told]
