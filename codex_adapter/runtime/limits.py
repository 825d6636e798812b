"""Which time limit of a run is due next; pure bookkeeping on a clock that stands still while the consumer is slow (D4).

All times are seconds of that clock. The run's tasks note what happens; `next` says what to wait for. Events that only
move a deadline away need no wake-up: whoever waits asks again when the old one has come.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Collection

from codex_adapter.core.state import StreamState
from codex_adapter.events import TurnOutcome

__all__ = ["Limit", "Limits"]


class Limit(enum.Enum):
    """What has come to its end when a deadline passes."""

    RUN = "the run's timeout (K1)"
    IDLE = "no progress for too long (K2)"
    TOOL = "a tool call open for too long (K2)"
    LINGER = "the agent stays alive after its last turn (K6)"
    CLOSED = "the agent closed its output in mid-turn and stays alive (F8)"
    DESCENDANT = "the agent has exited and something else holds its output (F7)"


class Limits:
    """The deadlines of one run. Durations are seconds, None for no limit."""

    def __init__(
        self,
        *,
        timeout: float | None = None,
        idle: float | None = None,
        tool: float | None = None,
        exit_grace: float = math.inf,
        descendant_grace: float = math.inf,
    ) -> None:
        self._timeout = math.inf if timeout is None else timeout
        self._idle = idle
        self._tool = tool
        self._exit_grace = exit_grace
        self._descendant_grace = descendant_grace
        self._progress_at = 0.0
        self._open_tools: dict[str, float] = {}
        self._turn_ended_at = math.inf
        self._output_ended_at = math.inf
        self._exited_at = math.inf
        self._stopping = False

    def observe(self, state: StreamState, now: float) -> bool:
        """What the agent has shown; True when a deadline has come nearer."""
        if state.take_progress():
            self.progress(now)
        nearer = self.tools(state.open_tools, now)
        return self.turn(state.turn, now) or nearer

    def progress(self, now: float) -> None:
        """The agent has done something that counts."""
        self._progress_at = now

    def tools(self, open_ids: Collection[str], now: float) -> bool:
        """The tool calls that have no result yet; True when a deadline has come nearer."""
        if not self._open_tools and not open_ids:
            return False
        nearer = bool(self._open_tools) != bool(open_ids)
        self._open_tools = {tool: self._open_tools.get(tool, now) for tool in open_ids}
        return nearer

    def turn(self, outcome: TurnOutcome | None, now: float) -> bool:
        """How the last turn stands; True when a deadline has come nearer."""
        ended = outcome is not None and outcome != "cut_off"
        if ended == (self._turn_ended_at < math.inf):
            return False
        self._turn_ended_at = now if ended else math.inf
        return True

    def output_ended(self, now: float) -> None:
        """The agent's output is at its end."""
        self._output_ended_at = now

    def exited(self, now: float) -> None:
        """The agent's process has exited."""
        self._exited_at = now

    def stopping(self) -> None:
        """The run is being ended: nothing but the end of its output can be late any more."""
        self._stopping = True

    def next(self) -> tuple[float, Limit]:
        """The nearest deadline, infinitely far when there is none."""
        if self._exited_at < math.inf:
            if self._output_ended_at < math.inf:
                return math.inf, Limit.DESCENDANT
            return self._exited_at + self._descendant_grace, Limit.DESCENDANT
        if self._stopping:
            return math.inf, Limit.RUN
        deadlines = [(self._timeout, Limit.RUN)]
        if self._turn_ended_at < math.inf:
            deadlines.append((self._turn_ended_at + self._exit_grace, Limit.LINGER))
        elif self._output_ended_at < math.inf:
            deadlines.append((self._output_ended_at + self._exit_grace, Limit.CLOSED))
        elif self._open_tools:
            if self._tool is not None:
                deadlines.append((min(self._open_tools.values()) + self._tool, Limit.TOOL))
        elif self._idle is not None:
            deadlines.append((self._progress_at + self._idle, Limit.IDLE))
        return min(deadlines, key=lambda deadline: deadline[0])
