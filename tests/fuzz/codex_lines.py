"""Check the events of a line of the Codex CLI: their kinds, texts and sizes, and the state after the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from codex_adapter.agents.codex.stream import lines as te
from codex_adapter.agents.codex.stream.lines import ThreadEvent
from codex_adapter.core.bad_lines import BadLine
from codex_adapter.core.bounds import cut
from codex_adapter.core.masking.masker import Masker
from codex_adapter.events import Dropped, ErrorSource, Event, Plan, TextPart, TokenUsage, Tool, ToolBytes, ToolCall
from tests.fuzz.model import LineModel

__all__ = ["CodexModel"]

_KINDS: Final[dict[type, str]] = {
    **dict.fromkeys((te.ThreadStarted, te.TurnStarted, te.TurnCompleted, te.TurnFailed, te.TodoList), "status"),
    **dict.fromkeys((BadLine, te.ErrorLine, te.ErrorItem), "error"),
    **dict.fromkeys((te.AgentMessage, te.Reasoning), "text_output"),
    te.Unknown: "unknown",
}
_NAMES_THAT_FIT: Final = 65_536 - 8_192
_TOOL_PHASES: Final[dict[type, str]] = {
    te.ItemStarted: "start",
    te.ItemUpdated: "delta",
    te.ItemCompleted: "complete",
    te.ItemFailed: "fail",
}


def check_told(line: ThreadEvent, events: Sequence[Event], masker: Masker) -> None:
    """The events of a line have the kind and the words that it has; before them may be news of the session (M0, B2)."""
    item = getattr(line, "item", None)
    tool = isinstance(line, te.ItemStarted | te.ItemUpdated)
    kind = _KINDS.get(type(line)) or _KINDS.get(type(item)) or ("tool_call" if tool else "tool_result")
    if isinstance(line, te.ItemFailed) and type(item) in _KINDS:
        kind = "error"
    own = [event for event in events if event.kind == kind]
    assert own, "an event of another kind"
    first = events[-len(own)]
    assert all(event.kind == "status" for event in events[: -len(own)])
    if kind == "text_output" and isinstance(item, te.AgentMessage | te.Reasoning):
        assert "".join(event.text or "" for event in own) == masker.mask(item.text), "a text is not whole"
        for number, event in enumerate(own, 1):
            part = event.data
            if isinstance(part, TextPart):
                assert (part.part, part.parts, part.item_type) == (number, len(own), type(item).__struct_config__.tag)
            else:
                assert isinstance(part, Dropped)
    else:
        assert len(own) == 1 or kind == "status", "more than one event"
    if item is not None and isinstance(first.data, ToolCall):
        _check_tool(first.data.tool, line, item)
    if kind.startswith("tool") and isinstance(first.data, Dropped):
        names = (getattr(item, name, "") for name in ("id", "server", "tool"))
        assert 6 * len("".join((*names, line.turn_id or ""))) > _NAMES_THAT_FIT, "dropped because of its payloads"
    if isinstance(item, te.TodoList) and kind == "status":
        assert isinstance(events[-1].data, Plan | Dropped)
    if isinstance(line, te.TurnCompleted) and line.usage is not None:
        assert isinstance(events[-1].data, TokenUsage)
    if isinstance(line, te.ErrorLine):
        assert (first.message, first.data) == (cut(masker.mask(line.message), 4_096), ErrorSource("event"))


def _check_tool(tool: Tool, line: ThreadEvent, item: te.Item) -> None:
    assert tool.kind == type(item).__struct_config__.tag
    assert (tool.phase == "fail") <= (tool.status == "failed")
    assert tool.exit_code == getattr(item, "exit_code", None)
    assert tool.bytes == _sizes(item), "sizes are not those of the line"
    assert tool.phase == _TOOL_PHASES[type(line)]


def _sizes(item: te.Item) -> ToolBytes:
    if isinstance(item, te.CommandExecution):
        return ToolBytes(stdout=_utf8(item.aggregated_output or item.stdout), stderr=_utf8(item.stderr))
    if isinstance(item, te.FileChange):
        return ToolBytes(stdout=_utf8(item.stdout), stderr=_utf8(item.stderr), diff=_utf8(item.diff))
    raw = bytes(getattr(item, "result", b"") or getattr(item, "agents_states", b""))
    return ToolBytes(result=0 if raw == b"null" else len(raw))


def _utf8(text: str) -> int:
    return len(text.encode())


class CodexModel(LineModel):
    """What all lines together leave behind, told once more in the simplest way (F2, K2, M9)."""

    def __init__(self, masker: Masker) -> None:
        super().__init__(masker)
        self.final_text: str | None = None
        self.turn: str | None = None
        self.usage: dict[str, int] | None = None
        self.open_tools: list[str] = []
        self.stalls = 0
        self._has_agents = False

    @override
    def add_bad_line(self) -> None:
        """Implement `LineModel.add_bad_line`."""
        self.stalls += 1

    @override
    def add(self, line: ThreadEvent, events: Sequence[Event]) -> None:
        """Implement `LineModel.add`."""
        assert events, "a line gives no event"
        ends = isinstance(line, te.TurnCompleted | te.TurnFailed)
        check_told(line, self._without_closings(events) if ends else events, self._masker)
        self._note(line, events[-1])

    @override
    def finish(self, events: Sequence[Event], facts: Mapping[str, Any], final_text: str | None) -> None:
        """Implement `LineModel.finish`."""
        assert len(self._without_closings(events)) <= 1, "the end gives more than what is open and the session"
        noted = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        assert {name: facts[name] for name in noted} == noted
        told = None if self.final_text is None else cut(self._masker.mask(self.final_text), 65_536)
        assert final_text == told

    def _without_closings(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events without the results of what was left open, which come before them, the oldest first (M9)."""
        closed, rest = events[: len(self.open_tools)], events[len(self.open_tools) :]
        for event, item_id in zip(closed, self.open_tools, strict=True):
            assert event.kind == "tool_result", "a call is left without a result"
            if isinstance(event.data, ToolCall):
                tool = event.data.tool
                told = (tool.backend_item_id, tool.phase, tool.status, tool.exit_code, tool.bytes)
                assert told == (self._masker.mask(item_id), "complete", "unknown", None, ToolBytes())
                assert (event.data.input, event.data.output) == (None, None)
            else:
                assert isinstance(event.data, Dropped)
        self.open_tools.clear()
        return rest

    def _note(self, line: ThreadEvent, event: Event) -> None:
        """Note a line that is no bad one, and the last event of it."""
        if isinstance(line, te.ThreadStarted):
            self._has_agents = False
        elif isinstance(line, te.ItemStarted | te.ItemUpdated | te.ItemCompleted):
            self._has_agents |= isinstance(line.item, te.CollabToolCall)
        if isinstance(line, te.TurnStarted):
            if not self._has_agents or line.turn_id is not None:  # else it is a sub-agent's (M11)
                self.turn = "cut_off"
        elif isinstance(line, te.TurnCompleted | te.TurnFailed):
            self.turn = "completed" if isinstance(line, te.TurnCompleted) else "failed"
            if isinstance(line, te.TurnCompleted):
                self.usage = event.data.usage if isinstance(event.data, TokenUsage) else None
        elif isinstance(line, te.ErrorLine):
            self.stalls += 1
        elif isinstance(line, te.ItemCompleted) and isinstance(line.item, te.AgentMessage) and not line.item.delta:
            self.final_text = line.item.text
        elif isinstance(line, te.ItemStarted | te.ItemUpdated) and type(line.item) not in _KINDS:
            if line.item.id not in self.open_tools:
                self.open_tools.append(line.item.id)
        elif isinstance(line, te.ItemCompleted | te.ItemFailed) and type(line.item) not in _KINDS:
            self.open_tools = [item_id for item_id in self.open_tools if item_id != line.item.id]
