"""What a run has shown so far, beyond its events: what the completion tells, and what time limits look at."""

from __future__ import annotations

from typing import Final

from codex_adapter.agents.codex.stream.diagnosis import Diagnosis
from codex_adapter.events import Tool, TurnOutcome

__all__ = ["MOST_OPEN_TOOLS", "RunFacts"]

MOST_OPEN_TOOLS: Final = 1_024
"""So many at once are no agent's work; the oldest alone decide on time limits and are closed (K2, M9)."""


class RunFacts:
    """Kept by the mapping, read by whoever ends or completes the run.

    `session_id` is the first valid thread id (M5), `final_text` the last completed agent message, whole (F2, M10).
    `turn` is how the last turn ended, `cut_off` while it has not, None when none began; `usage` is the last turn's,
    `run_usage` the run's own share of it (F10). `open_tools` has the tool calls without a result by their ids, as they
    were last shown, the oldest first and no more than 1,024 of them (M9). `lines` counts all lines, `stalls` those that
    are no progress: the CLI's own error notices, and lines that are no thread event (K2). `diagnosis` is what the CLI's
    own errors tell of a failure (F9).
    """

    __slots__ = ("diagnosis", "final_text", "lines", "open_tools", "run_usage", "session_id", "stalls", "turn", "usage")

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.final_text: str | None = None
        self.turn: TurnOutcome | None = None
        self.usage: dict[str, int] | None = None
        self.run_usage: dict[str, int] | None = None
        self.open_tools: dict[str, Tool] = {}
        self.lines = 0
        self.stalls = 0
        self.diagnosis = Diagnosis()

    def error_told(self, message: str) -> None:
        """An `error` line: no progress, and it may tell why the run fails (K2, F9)."""
        self.stalls += 1
        self.diagnosis.note(message)

    def turn_failed(self, error: object) -> None:
        """A turn ended badly; `error` is what the CLI says of it (F2, F9)."""
        self.turn = "failed"
        self.diagnosis.note(error)

    def take_progress(self) -> bool:
        """Whether there was progress since the last call (K2)."""
        progress = self.lines > self.stalls
        self.lines = self.stalls = 0
        return progress
