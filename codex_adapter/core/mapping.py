"""Thread event -> event: the only file that knows both vocabularies (M0 to M8).

One thread event gives one logical event; a session id that has no status event of its own gives one more (M5).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from codex_adapter.core import thread_events as te
from codex_adapter.core.facts import RunFacts
from codex_adapter.core.masking import SHORTEST_SECRET
from codex_adapter.core.parsing import BadLine, usable_id
from codex_adapter.events import (
    AGENT_KIND,
    ErrorSource,
    Event,
    Facet,
    Plan,
    PlanItem,
    Session,
    SessionHandle,
    TextPart,
    TextPhase,
    TokenUsage,
    Tool,
    ToolBytes,
    ToolCall,
    ToolPhase,
    ToolStatus,
    UnknownLine,
)

__all__ = ["Mapper", "error_event", "status_event"]

_STATUSES: dict[str, ToolStatus] = {
    "pending": "pending",
    "in_progress": "running",
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "declined": "failed",
}
_NO_BYTES = ToolBytes()
_FROM_ITEM = ErrorSource("item")
_FROM_LINE = ErrorSource("event")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

ToolItem = te.CommandExecution | te.FileChange | te.McpToolCall | te.CollabToolCall | te.WebSearch
ItemLine = te.ItemStarted | te.ItemUpdated | te.ItemCompleted | te.ItemFailed
Payloads = Callable[[Tool, te.Item], ToolCall]


def status_event(message: str | None = None, data: Facet | None = None) -> Event:
    """A status event (M1)."""
    return Event(AGENT_KIND, "status", "status", None, message, data)


def error_event(message: str, data: Facet | None = None) -> Event:
    """An error event; those of the adapter itself have no data (M1, M8)."""
    return Event(AGENT_KIND, "error", "error", None, message, data)


class Mapper:
    """Maps the thread events of one run and notes the facts that outlive them.

    `payloads` makes the facet of a tool call with its payloads, None leaves them out (M7). `free_text` collects every
    string of a line that an event passes on, for whoever masks the events (X5).
    """

    def __init__(self, payloads: Payloads | None = None) -> None:
        self.facts = RunFacts()
        self.free_text: list[str] = []
        self._payloads = payloads
        self._thread_id: str | None = None
        self._handle: SessionHandle | None = None  # waits for a status event to travel on
        self._notice: str | None = None
        self._oversize_noticed = False

    def map(self, line: te.ThreadEvent | BadLine, out: list[Event]) -> None:
        """Append what one line gives (M0)."""
        if isinstance(line, BadLine):
            self.facts.stalls += 1
            out.append(error_event(line.message))
            return
        if line.thread_id is not self._thread_id:
            self._see_thread(line)
        event: Event = _LINES[type(line)](self, line)
        if self._notice is not None or self._handle is not None:
            event = self._announce(event, out)
        out.append(event)

    def finish(self, out: list[Event]) -> None:
        """Append what is left at the end of the stream: a session id that no status event has carried (M5)."""
        if self._handle is not None:
            out.append(status_event(data=self._handle))
            self._handle = None

    def _see_thread(self, line: te.ThreadEvent) -> None:
        thread_id = line.thread_id
        assert thread_id is not None
        if not usable_id(thread_id):
            line.thread_id = None
            if thread_id.strip() and not self._oversize_noticed:
                self._oversize_noticed = True
                self._notice = f"session handle id oversize: len_bytes={len(thread_id.encode())}"
            return
        self._thread_id = thread_id
        self.free_text.append(thread_id)
        if self.facts.session_id is None:
            self.facts.session_id = thread_id
            self._handle = SessionHandle(Session(thread_id))

    def _announce(self, event: Event, out: list[Event]) -> Event:
        """Put the session's notice or handle on this status event; before it, when its own place is taken (M5)."""
        if self._notice is not None:
            notice, self._notice = self._notice, None
            if event.kind == "status" and event.message is None:
                return status_event(notice, event.data)
            out.append(status_event(notice))
        elif event.kind == "status" and self._handle is not None:
            handle, self._handle = self._handle, None
            if event.data is None:
                return status_event(event.message, handle)
            out.append(status_event(data=handle))
        return event

    def thread_started(self, _line: te.ThreadStarted) -> Event:
        return status_event()

    def turn_started(self, _line: te.TurnStarted) -> Event:
        self.facts.turn = "cut_off"
        return status_event()

    def turn_completed(self, line: te.TurnCompleted) -> Event:
        self.facts.turn = "completed"
        self.facts.open_tools.clear()
        if line.usage is None:
            return status_event()
        usage = {name: count for name, count in line.usage.items() if type(count) is int and abs(count) < 2**63}
        self.facts.usage = usage
        return status_event(data=TokenUsage(usage))

    def turn_failed(self, _line: te.TurnFailed) -> Event:
        self.facts.turn = "failed"
        self.facts.open_tools.clear()
        return status_event("turn failed")

    def item_started(self, line: te.ItemStarted) -> Event:
        return _ITEMS[type(line.item)](self, line, line.item, "start")

    def item_updated(self, line: te.ItemUpdated) -> Event:
        return _ITEMS[type(line.item)](self, line, line.item, "delta")

    def item_completed(self, line: te.ItemCompleted) -> Event:
        return _ITEMS[type(line.item)](self, line, line.item, "complete")

    def item_failed(self, line: te.ItemFailed) -> Event:
        item = line.item
        if isinstance(item, ToolItem):
            return self.tool(line, item, "fail")
        said = line.error.get("message") if isinstance(line.error, dict) else line.error
        if not isinstance(said, str):
            said = item.message if isinstance(item, te.ErrorItem) else f"{_TYPE_NAMES[type(item)]} failed"
        self.free_text.append(said)
        return error_event(said, _FROM_ITEM)

    def error_line(self, line: te.ErrorLine) -> Event:
        self.facts.stalls += 1
        self.free_text.append(line.message)
        return error_event(line.message, _FROM_LINE)

    def unknown(self, line: te.Unknown) -> Event:
        names = UnknownLine(_plain_name(line.type), _plain_name(line.item_type))
        self.free_text.extend(name for name in (names.type, names.item_type) if name)
        return Event(AGENT_KIND, "unknown", None, None, None, names)

    def text(self, _line: ItemLine, item: te.AgentMessage | te.Reasoning, phase: ToolPhase) -> Event:
        text = item.text
        self.free_text.append(text)
        if len(item.id) >= SHORTEST_SECRET:
            self.free_text.append(item.id)
        if phase == "complete" and type(item) is te.AgentMessage and not item.delta:
            self.facts.final_text = text
        part = TextPart(item.id, _TYPE_NAMES[type(item)], "delta" if item.delta else _TEXT_PHASES[phase])
        return Event(AGENT_KIND, "text_output", "assistant", text, None, part)

    def plan(self, _line: ItemLine, item: te.TodoList, _phase: ToolPhase) -> Event:
        self.free_text.extend(step.text for step in item.items)
        return status_event(data=Plan(tuple(PlanItem(step.text, step.completed) for step in item.items)))

    def warning(self, _line: ItemLine, item: te.ErrorItem, _phase: ToolPhase) -> Event:
        self.free_text.append(item.message)
        return error_event(item.message, _FROM_ITEM)

    def tool(self, line: ItemLine, item: ToolItem, phase: ToolPhase) -> Event:
        exit_code: int | None = None
        name: str | None = None
        if isinstance(item, te.CommandExecution):
            exit_code = item.exit_code
            output = item.aggregated_output or item.stdout
            size = ToolBytes(_utf8(output), _utf8(item.stderr)) if output or item.stderr else _NO_BYTES
        elif isinstance(item, te.FileChange):
            exit_code = item.exit_code
            size = ToolBytes(_utf8(item.stdout), _utf8(item.stderr), _utf8(item.diff)) if item.diff else _NO_BYTES
        elif isinstance(item, te.McpToolCall):
            name = f"{item.server}/{item.tool}"
            size = ToolBytes(result=_json_bytes(item.result))
        elif isinstance(item, te.CollabToolCall):
            name = item.tool
            size = ToolBytes(result=_json_bytes(item.agents_states))
        else:
            size = _NO_BYTES
        tool = Tool(
            item.id, line.thread_id, line.turn_id, _TYPE_NAMES[type(item)], phase, _status(item, phase), exit_code, size, name
        )
        if name is not None:
            self.free_text.append(name)
        if len(item.id) >= SHORTEST_SECRET:
            self.free_text.append(item.id)
        facet = ToolCall(tool) if self._payloads is None else self._payloads(tool, item)
        if phase == "start" or phase == "delta":
            self.facts.open_tools[item.id] = None
            return Event(AGENT_KIND, "tool_call", "tool", None, None, facet)
        self.facts.open_tools.pop(item.id, None)
        return Event(AGENT_KIND, "tool_result", "tool", None, None, facet)


_LINES: dict[type, Callable[..., Event]] = {
    te.ThreadStarted: Mapper.thread_started,
    te.TurnStarted: Mapper.turn_started,
    te.TurnCompleted: Mapper.turn_completed,
    te.TurnFailed: Mapper.turn_failed,
    te.ItemStarted: Mapper.item_started,
    te.ItemUpdated: Mapper.item_updated,
    te.ItemCompleted: Mapper.item_completed,
    te.ItemFailed: Mapper.item_failed,
    te.ErrorLine: Mapper.error_line,
    te.Unknown: Mapper.unknown,
}
_ITEMS: dict[type, Callable[..., Event]] = {
    te.AgentMessage: Mapper.text,
    te.Reasoning: Mapper.text,
    te.CommandExecution: Mapper.tool,
    te.FileChange: Mapper.tool,
    te.McpToolCall: Mapper.tool,
    te.CollabToolCall: Mapper.tool,
    te.WebSearch: Mapper.tool,
    te.TodoList: Mapper.plan,
    te.ErrorItem: Mapper.warning,
}
_TYPE_NAMES: dict[type, str] = {kind: str(kind.__struct_config__.tag) for kind in _ITEMS}
_TEXT_PHASES: dict[ToolPhase, TextPhase] = {"start": "start", "delta": "snapshot", "complete": "complete"}


def _status(item: ToolItem, phase: ToolPhase) -> ToolStatus:
    """The item's own status; where the CLI gives none, what the line and the exit code say (M3)."""
    if phase == "fail":
        return "failed"
    if item.status:
        return _STATUSES.get(item.status, "unknown")
    if phase != "complete":
        return "running"
    if isinstance(item, te.CommandExecution | te.FileChange) and item.exit_code:
        return "failed"
    if isinstance(item, te.McpToolCall) and _json_bytes(item.error):
        return "failed"
    return "completed"


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _json_bytes(raw: msgspec.Raw) -> int:
    """The length of a value's JSON text; 0 for null and for a value that is not there."""
    length = len(memoryview(raw))
    return 0 if length == 4 and bytes(raw) == b"null" else length


def _plain_name(name: str | None) -> str | None:
    found = None if name is None else _NAME.match(name)
    return None if found is None else found[0]
