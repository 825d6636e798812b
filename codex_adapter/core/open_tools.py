"""Tool calls that no result has come for, and the results that close them (M9)."""

from __future__ import annotations

from collections.abc import MutableMapping

from msgspec.structs import replace

from codex_adapter.events import AGENT_KIND, Event, Tool, ToolBytes, ToolCall

__all__ = ["close_tools"]

_NO_BYTES = ToolBytes()


def close_tools(open_tools: MutableMapping[str, Tool], seq: int) -> tuple[list[Event], list[str]]:
    """A result for each call, numbered from `seq`, by which nothing is known of how it ended; none is open then (M9).

    Beside them the strings of the events that have not been masked, and the ids of their turns.
    """
    events: list[Event] = []
    names: list[str] = []
    for number, tool in enumerate(open_tools.values(), seq):
        names += [name for name in (tool.backend_item_id, tool.tool_name, tool.turn_id) if name is not None]
        unknown = replace(tool, phase="complete", status="unknown", exit_code=None, bytes=_NO_BYTES)
        events.append(Event(number, AGENT_KIND, "tool_result", "tool", None, None, ToolCall(unknown, None, None)))
    open_tools.clear()
    return events, names
