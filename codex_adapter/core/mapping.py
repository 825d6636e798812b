"""Thread event -> event: the only file that knows both vocabularies (M0 to M8).

One thread event gives one logical event; a session id that has no status event of its own gives one more (M5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeAlias

from msgspec.structs import replace

from codex_adapter.core import thread_events as te
from codex_adapter.core.facts import RunFacts
from codex_adapter.core.masking import SHORTEST_SECRET
from codex_adapter.core.notices import error_event, status_event
from codex_adapter.core.parsing import BadLine, usable_id
from codex_adapter.core.session import SessionNotice
from codex_adapter.core.tools import TOOLS, ToolItem, ToolMaker
from codex_adapter.events import (
    AGENT_KIND,
    ErrorSource,
    Event,
    Plan,
    PlanItem,
    TextPart,
    TextPhase,
    TokenUsage,
    Tool,
    ToolCall,
    ToolPhase,
    UnknownLine,
)

__all__ = ["Mapper"]

_FROM_ITEM = ErrorSource("item")
_FROM_LINE = ErrorSource("event")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MOST_COUNTS = 64
_TEXT_PHASES: dict[ToolPhase, TextPhase] = {"start": "start", "delta": "snapshot", "complete": "complete"}

ItemLine: TypeAlias = te.ItemStarted | te.ItemUpdated | te.ItemCompleted | te.ItemFailed
Payloads: TypeAlias = Callable[[Tool, ToolItem], ToolCall]


class Mapper:
    """Maps the thread events of one run and notes the facts that outlive them.

    `mask` is for the strings that outlive their line, and for names that are cut (X5). `payloads` makes the facet of a
    tool call with its payloads, None leaves them out (M7). `free_text` collects every other string of a line that an
    event passes on, for whoever masks the events. `seq` is the number of the next event.
    """

    def __init__(self, mask: Callable[[str], str], payloads: Payloads | None = None) -> None:
        self.facts = RunFacts()
        self.free_text: list[str] = []
        self.seq = 0
        self._mask = mask
        self._payloads = payloads
        self._thread_id: str | None = None
        self._thread_id_shown: str | None = None
        self._turn_seen: str | None = None
        self._turn_shown: str | None = None
        self._session = SessionNotice()

    def map(self, lines: Iterable[te.ThreadEvent | BadLine]) -> list[Event]:
        """What the lines give, one logical event each (M0)."""
        out: list[Event] = []
        for line in lines:
            phase = _PHASES.get(type(line))
            if phase is None or line.thread_id is not self._thread_id or self._session.waiting:  # type: ignore[union-attr]
                out += self._map_with_care(line)
            else:
                item: te.Item = line.item  # type: ignore[union-attr]  # a line that has a phase has an item
                out.append(_ITEMS[type(item)](self, line, item, phase))
                self.seq += 1
        return out

    def _map_with_care(self, line: te.ThreadEvent | BadLine) -> list[Event]:
        """A line that is no item, or that comes with news of the session."""
        if isinstance(line, BadLine):
            self.facts.stalls += 1
            events = [error_event(self.seq, line.message)]
        else:
            if line.thread_id is not self._thread_id:
                self._see_thread(line)
            phase = _PHASES.get(type(line))
            if phase is None:
                event = _LINES[type(line)](self, line)
            else:
                item: te.Item = line.item  # type: ignore[union-attr]  # as above
                event = _ITEMS[type(item)](self, line, item, phase)
            events = self._session.put_on(event) if self._session.waiting else [event]
        self.seq += len(events)
        return events

    def finish(self) -> list[Event]:
        """What is left at the end of the stream: a session id that no status event has carried (M5)."""
        events = self._session.at_the_end(self.seq)
        self.seq += len(events)
        return events

    def _see_thread(self, line: te.ThreadEvent) -> None:
        thread_id: str = line.thread_id  # type: ignore[assignment]  # a thread that was seen is not forgotten
        if not usable_id(thread_id):
            line.thread_id = None
            if thread_id.strip():
                self._session.oversize(len(thread_id.encode()))
            return
        self._thread_id = thread_id
        self._thread_id_shown = self._mask(thread_id)
        if self.facts.session_id is None:
            self.facts.session_id = self._thread_id_shown
            self._session.known(self._thread_id_shown)

    def _thread_started(self, _line: te.ThreadStarted) -> Event:
        return status_event(self.seq)

    def _turn_started(self, _line: te.TurnStarted) -> Event:
        self.facts.turn = "cut_off"
        return status_event(self.seq)

    def _turn_completed(self, line: te.TurnCompleted) -> Event:
        self.facts.turn = "completed"
        self.facts.open_tools.clear()
        self.facts.usage = None
        if line.usage is None:
            return status_event(self.seq)
        usage = {
            self._mask(name): count
            for name, count in islice(line.usage.items(), _MOST_COUNTS)
            if type(count) is int and abs(count) < 2**63 and _NAME.fullmatch(name)
        }
        self.facts.usage = usage
        return status_event(self.seq, data=TokenUsage(usage))

    def _turn_failed(self, _line: te.TurnFailed) -> Event:
        self.facts.turn = "failed"
        self.facts.open_tools.clear()
        return status_event(self.seq, "turn failed")

    def _error_line(self, line: te.ErrorLine) -> Event:
        self.facts.stalls += 1
        self.free_text.append(line.message)
        return error_event(self.seq, line.message, _FROM_LINE)

    def _unknown(self, line: te.Unknown) -> Event:
        names = UnknownLine(self._plain_name(line.type), self._plain_name(line.item_type))
        return Event(self.seq, AGENT_KIND, "unknown", None, None, None, names)

    def _plain_name(self, name: str | None) -> str | None:
        found = None if name is None else _NAME.match(self._mask(name))
        return None if found is None else found[0]

    def _agent_message(self, line: ItemLine, item: te.AgentMessage, phase: ToolPhase) -> Event:
        if phase == "complete" and not item.delta:
            self.facts.final_text = item.text
        return self._text(line, item, "agent_message", phase)

    def _reasoning(self, line: ItemLine, item: te.Reasoning, phase: ToolPhase) -> Event:
        return self._text(line, item, "reasoning", phase)

    def _text(self, line: ItemLine, item: te.AgentMessage | te.Reasoning, item_type: str, phase: ToolPhase) -> Event:
        if phase == "fail":
            return self._failed(line, f"{item_type} failed")
        text = item.text
        self.free_text.append(text)
        if len(item.id) >= SHORTEST_SECRET:
            self.free_text.append(item.id)
        part = TextPart(item.id, item_type, "delta" if item.delta else _TEXT_PHASES[phase])
        return Event(self.seq, AGENT_KIND, "text_output", "assistant", text, None, part)

    def _plan(self, line: ItemLine, item: te.TodoList, phase: ToolPhase) -> Event:
        if phase == "fail":
            return self._failed(line, "todo_list failed")
        self.free_text.extend(step.text for step in item.items)
        return status_event(self.seq, data=Plan(tuple(PlanItem(step.text, step.completed) for step in item.items)))

    def _warning(self, line: ItemLine, item: te.ErrorItem, _phase: ToolPhase) -> Event:
        return self._failed(line, item.message)

    def _failed(self, line: ItemLine, otherwise: str) -> Event:
        """An error event with what the line says of the failure, or with what else is known of it."""
        message = otherwise
        if type(line) is te.ItemFailed:
            said = line.error.get("message") if isinstance(line.error, dict) else line.error
            message = said if isinstance(said, str) else otherwise
        self.free_text.append(message)
        return error_event(self.seq, message, _FROM_ITEM)

    def _turn_id(self, line: ItemLine) -> str | None:
        if line.turn_id is not self._turn_seen:
            self._turn_seen = line.turn_id
            self._turn_shown = None if line.turn_id is None else self._mask(line.turn_id)
        return self._turn_shown


def _tool_mapping(make: ToolMaker) -> Callable[[Mapper, ItemLine, ToolItem, ToolPhase], Event]:
    """How a tool-like item is mapped whose facet `make` makes."""

    def map_tool(mapper: Mapper, line: ItemLine, item: ToolItem, phase: ToolPhase) -> Event:
        item_id = item.id
        thread_id = None if line.thread_id is None else mapper._thread_id_shown
        tool = make(item, phase, thread_id, mapper._turn_id(line))
        if phase == "fail":
            tool = replace(tool, status="failed")
        if tool.tool_name is not None:
            mapper.free_text.append(tool.tool_name)
        if len(item_id) >= SHORTEST_SECRET:
            mapper.free_text.append(item_id)
        facet = ToolCall(tool) if mapper._payloads is None else mapper._payloads(tool, item)
        if phase == "complete" or phase == "fail":  # noqa: PLR1714 - no set is made for every event
            mapper.facts.open_tools.pop(item_id, None)
            return Event(mapper.seq, AGENT_KIND, "tool_result", "tool", None, None, facet)
        mapper.facts.tool_opened(item_id)
        return Event(mapper.seq, AGENT_KIND, "tool_call", "tool", None, None, facet)

    return map_tool


_PHASES: dict[type, ToolPhase] = {
    te.ItemStarted: "start",
    te.ItemUpdated: "delta",
    te.ItemCompleted: "complete",
    te.ItemFailed: "fail",
}
_LINES: dict[type, Callable[..., Event]] = {
    te.ThreadStarted: Mapper._thread_started,
    te.TurnStarted: Mapper._turn_started,
    te.TurnCompleted: Mapper._turn_completed,
    te.TurnFailed: Mapper._turn_failed,
    te.ErrorLine: Mapper._error_line,
    te.Unknown: Mapper._unknown,
}
_ITEMS: dict[type, Callable[..., Event]] = {
    te.AgentMessage: Mapper._agent_message,
    te.Reasoning: Mapper._reasoning,
    te.TodoList: Mapper._plan,
    te.ErrorItem: Mapper._warning,
    **{kind: _tool_mapping(make) for kind, make in TOOLS.items()},
}
