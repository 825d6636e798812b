"""Keep the data of a run's stream that completions and time limits need beyond the events."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping
from typing import Final

from msgspec.structs import replace

from codex_adapter.events import Event, Tool, ToolBytes, ToolCall, TurnOutcome

__all__ = ["MOST_OPEN_TOOLS", "StreamState", "checked_cost", "close_tools"]

MOST_OPEN_TOOLS: Final = 1_024
"""The limit of open tool calls that are kept. The oldest ones are kept; they decide on time limits (K2, M9)."""

_NO_BYTES: Final = ToolBytes()
_LARGEST_COST: Final = 1e12


class StreamState:
    """The state of one run's stream. Decoders write it with its methods; the runtime reads it and closes tools.

    `session_id` is the first valid session id, masked. `final_text` is the last completed message, whole. `turn` is the
    outcome of the last turn: None before the first turn, `cut_off` until a turn ends. `usage` is the usage of the last
    turn, `run_usage` the tokens of the run at that turn's end, if they are known. `cost_usd` is the cost of the run so
    far. `open_tools` maps ids to tool calls without a result, as they were last shown, oldest first. `background` has
    the ids of those of them that continue in the background (F2, F10, F13, M5, M9, M10).
    """

    __slots__ = (
        "_lines",
        "_stalls",
        "agent_kind",
        "background",
        "cost_usd",
        "final_text",
        "open_tools",
        "run_usage",
        "session_id",
        "turn",
        "usage",
    )

    def __init__(self, agent_kind: str) -> None:
        self.agent_kind: Final = agent_kind
        self.session_id: str | None = None
        self.final_text: str | None = None
        self.turn: TurnOutcome | None = None
        self.usage: dict[str, int] | None = None
        self.run_usage: dict[str, int] | None = None
        self.cost_usd: float | None = None
        self.open_tools: dict[str, Tool] = {}
        self.background: set[str] = set()
        self._lines = 0
        self._stalls = 0

    def session_started(self, session_id: str) -> None:
        """Record the masked id of the session. Only the first id counts (M5)."""
        self.session_id = self.session_id or session_id

    def turn_started(self) -> None:
        """Record that a turn began."""
        self.turn = "cut_off"

    def turn_completed(self, usage: dict[str, int] | None = None, run_usage: dict[str, int] | None = None) -> None:
        """Record that the turn completed, with its token counts and the run's own share of them (F10)."""
        self.turn = "completed"
        self.usage = usage
        self.run_usage = run_usage

    def turn_failed(self) -> None:
        """Record that the turn failed (F2)."""
        self.turn = "failed"

    def cost_reported(self, cost_usd: float | None) -> None:
        """Record the cost of the run so far in US dollars. None, or what is not an amount, is an unknown cost (F13)."""
        self.cost_usd = checked_cost(cost_usd)

    def message_completed(self, text: str) -> None:
        """Record a whole message of the agent. The last message is the final text (M10)."""
        self.final_text = text

    def tool_opened(self, item_id: str, tool: Tool) -> None:
        """Record a tool call without a result (M9)."""
        if len(self.open_tools) < MOST_OPEN_TOOLS or item_id in self.open_tools:
            self.open_tools[item_id] = tool

    def tool_closed(self, item_id: str) -> None:
        """Record the result of a tool call (M9)."""
        self.open_tools.pop(item_id, None)

    def tool_backgrounded(self, item_id: str, tool: Tool) -> None:
        """Record that an open tool call continues in the background (M9)."""
        self.open_tools[item_id] = tool
        self.background.add(item_id)

    def background_closed(self, item_id: str) -> None:
        """Record the end of a tool call that continued in the background (M9)."""
        self.background.discard(item_id)
        self.open_tools.pop(item_id, None)

    @property
    def limited_tools(self) -> Collection[str]:
        """The ids of the open tool calls that the agent waits for (K2)."""
        return self.open_tools.keys() - self.background if self.background else self.open_tools

    def lines_received(self, count: int) -> None:
        """Record that this many lines were read (K2)."""
        self._lines += count

    def line_stalled(self) -> None:
        """Record a line that is not progress: an error notice of the agent, or a line that cannot be decoded (K2)."""
        self._stalls += 1

    def take_progress(self) -> bool:
        """Return whether there was progress since the last call (K2)."""
        progress = self._lines > self._stalls
        self._lines = self._stalls = 0
        return progress

    def replace_tools(self, tools: Mapping[str, Tool]) -> None:
        """Set the open tool calls. The consumer has received no later event than these (K4)."""
        self.open_tools.clear()
        self.open_tools.update(tools)

    def close_tools(self, *, background: bool = True) -> list[Event]:
        """Return a result with an unknown outcome for each open tool call, and close them all.

        Without `background`, the calls that continue in the background stay open, and those of their sub-agents (M9).
        """
        if not self.background:
            return close_tools(self.agent_kind, self.open_tools)
        kept: dict[str, Tool] = {}
        for item_id, tool in () if background else self.open_tools.items():
            if item_id in self.background or tool.parent_id in self.background or tool.parent_id in kept:
                kept[item_id] = tool
        for item_id in kept:
            del self.open_tools[item_id]
        events = close_tools(self.agent_kind, self.open_tools)
        self.open_tools.update(kept)
        self.background &= kept.keys()
        return events


def checked_cost(cost_usd: float | None) -> float | None:
    """Return a cost in US dollars, None if it is unknown or not an amount (F13)."""
    return float(cost_usd) if cost_usd is not None and 0 <= cost_usd <= _LARGEST_COST else None


def close_tools(agent_kind: str, open_tools: MutableMapping[str, Tool]) -> list[Event]:
    """Return a result without a number for each open tool call, and close them all (M9)."""
    events = [
        Event(0, agent_kind, "tool_result", "tool", None, None, ToolCall(_with_unknown_outcome(tool), None, None))
        for tool in open_tools.values()
    ]
    open_tools.clear()
    return events


def _with_unknown_outcome(tool: Tool) -> Tool:
    return replace(tool, phase="complete", status="unknown", exit_code=None, bytes=_NO_BYTES)
