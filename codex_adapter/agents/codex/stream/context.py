"""Track the thread and the turn of each line (T3)."""

from __future__ import annotations

from codex_adapter.agents.codex.stream.lines import ThreadEvent, ThreadStarted, TurnCompleted, TurnFailed, TurnStarted
from codex_adapter.core.session_notice import is_usable_id

__all__ = ["Context"]


class Context:
    """The current thread and turn: `thread_id` and `turn_id` apply to the next line if it has none (T3)."""

    def __init__(self) -> None:
        self.thread_id: str | None = None
        self.turn_id: str | None = None
        self._turns = 0

    def place(self, event: ThreadEvent) -> None:
        """Set the ids that the line of `event` does not have, and remember those that it has (T3)."""
        if event.thread_id is None:
            event.thread_id = event.conversation_id or self.thread_id
        if event.thread_id == self.thread_id:
            event.thread_id = self.thread_id
        elif event.thread_id is not None and is_usable_id(event.thread_id):
            self.thread_id = event.thread_id
            self.turn_id = None
        if isinstance(event, ThreadStarted):
            self.turn_id = None
            return
        if isinstance(event, TurnStarted):
            self._turns += 1
            if event.turn_id is None or not is_usable_id(event.turn_id):
                event.turn_id = f"synthetic-turn-{self._turns}"
        if event.turn_id is None:
            event.turn_id = self.turn_id
        elif is_usable_id(event.turn_id):
            self.turn_id = event.turn_id
        if isinstance(event, (TurnCompleted, TurnFailed)):
            self.turn_id = None
