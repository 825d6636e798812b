"""Find the next time limit of a run, on a clock that stops while the consumer is slow (D4).

All times are seconds of that clock, and no method waits. The run's tasks record events; `next` returns the deadline to
wait for. An event that only moves a deadline away needs no wake-up: the waiter asks again at the old deadline.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Collection

from codex_adapter.core.state import StreamState
from codex_adapter.events import TurnOutcome

__all__ = ["Limit", "Limits"]


class Limit(enum.Enum):
    """The cause of a deadline."""

    RUN = "the run's timeout (K1)"
    IDLE = "no progress for too long (K2)"
    TOOL = "a tool call open for too long (K2)"
    LINGER = "the agent stays alive after its last turn and its work in the background (K6)"
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
        self._turn_ended = False
        self._background = False
        self._work_ended_at = math.inf
        self._output_ended_at = math.inf
        self._exited_at = math.inf
        self._stopping = False

    def observe(self, state: StreamState, now: float) -> bool:
        """Record what the agent has shown. Return True if a deadline is nearer now."""
        if state.take_progress():
            self.record_progress(now)
        nearer = self.record_tools(state.limited_tools, now)
        return self.record_turn(state.turn, now, background=bool(state.background)) or nearer

    def record_progress(self, now: float) -> None:
        """Record progress of the agent."""
        self._progress_at = now

    def record_tools(self, open_ids: Collection[str], now: float) -> bool:
        """Record the tool calls without a result. Return True if a deadline is nearer now."""
        if not self._open_tools and not open_ids:
            return False
        nearer = bool(self._open_tools) != bool(open_ids)
        self._open_tools = {tool: self._open_tools.get(tool, now) for tool in open_ids}
        return nearer

    def record_turn(self, outcome: TurnOutcome | None, now: float, *, background: bool = False) -> bool:
        """Record the state of the last turn, and whether calls are open in the background.

        Return True if a deadline is nearer now.
        """
        ended = outcome is not None and outcome != "cut_off"
        if ended == self._turn_ended and background == self._background:
            return False
        self._turn_ended, self._background = ended, background
        self._work_ended_at = now if ended and not background else math.inf
        return True

    def record_output_end(self, now: float) -> None:
        """Record the end of the agent's output."""
        self._output_ended_at = now

    def record_exit(self, now: float) -> None:
        """Record the exit of the agent's process."""
        self._exited_at = now

    def record_stop(self) -> None:
        """Record that the run is being ended. Only the end of its output still has a deadline."""
        self._stopping = True

    def next(self) -> tuple[float, Limit]:
        """Return the nearest deadline; infinity without one."""
        if self._exited_at < math.inf:
            if self._output_ended_at < math.inf:
                return math.inf, Limit.DESCENDANT
            return self._exited_at + self._descendant_grace, Limit.DESCENDANT
        if self._stopping:
            return math.inf, Limit.RUN
        # Without output, the agent can report no end of its work in the background.
        ended_at = min(self._work_ended_at, self._output_ended_at) if self._turn_ended else math.inf
        waits = self._turn_ended and ended_at == math.inf
        deadlines = [(self._timeout, Limit.LINGER if waits else Limit.RUN)]
        if ended_at < math.inf:
            deadlines.append((ended_at + self._exit_grace, Limit.LINGER))
        elif self._output_ended_at < math.inf:
            deadlines.append((self._output_ended_at + self._exit_grace, Limit.CLOSED))
        elif self._open_tools:
            if self._tool is not None:
                deadlines.append((min(self._open_tools.values()) + self._tool, Limit.TOOL))
        elif self._idle is not None:
            deadlines.append((self._progress_at + self._idle, Limit.LINGER if waits else Limit.IDLE))
        return min(deadlines, key=lambda deadline: deadline[0])
