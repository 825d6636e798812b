"""What a run has shown so far, beyond its events: what the completion tells, and what time limits look at."""

from __future__ import annotations

from typing import Final

from codex_adapter.events import TurnOutcome

__all__ = ["MOST_OPEN_TOOLS", "RunFacts"]

MOST_OPEN_TOOLS: Final = 1_024
"""So many at once are no agent's work, and the oldest alone decide on time limits (K2)."""


class RunFacts:
    """Kept by the mapping, read by whoever ends or completes the run.

    `session_id` is the first valid thread id (M5), `final_text` the last completed agent message, whole (F2).
    `turn` is how the last turn ended, `cut_off` while it has not, None when none began; `usage` is the last turn's.
    `open_tools` has the ids of tool calls without a result, oldest first, and no more than 1,024 of them. `lines`
    counts all lines, `stalls` those that are no progress: the CLI's own error notices, and lines that are no thread
    event (K2).
    """

    __slots__ = ("final_text", "lines", "open_tools", "session_id", "stalls", "turn", "usage")

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.final_text: str | None = None
        self.turn: TurnOutcome | None = None
        self.usage: dict[str, int] | None = None
        self.open_tools: dict[str, None] = {}
        self.lines = 0
        self.stalls = 0

    def take_progress(self) -> bool:
        """Whether there was progress since the last call (K2)."""
        progress = self.lines > self.stalls
        self.lines = self.stalls = 0
        return progress
