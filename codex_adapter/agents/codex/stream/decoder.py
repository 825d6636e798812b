"""Thread event -> event: the only file that knows both vocabularies (M0 to M11).

One thread event gives one logical event, but for news of the session (M5), calls that a turn leaves open (M9) and the
notice that the sandbox does not start (F12).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from codex_adapter.agents.codex.stream import lines as te
from codex_adapter.agents.codex.stream.context import Context
from codex_adapter.agents.codex.stream.line_parser import BadLine
from codex_adapter.agents.codex.stream.tools import TOOLS, FacetMaker, ToolItem
from codex_adapter.agents.codex.stream.unknown_lines import failure, unknown_line
from codex_adapter.agents.codex.stream.usage import RunShare, counts
from codex_adapter.core.bounds import LONG_MESSAGE, LONG_NAME, LONG_PLAN, LONG_TEXT
from codex_adapter.core.error_texts import SANDBOX_FAILED
from codex_adapter.core.masking.masker import SHORTEST_SECRET
from codex_adapter.core.notices import error_event, status_event
from codex_adapter.core.open_tools import close_tools
from codex_adapter.core.session_notice import SessionNotice
from codex_adapter.core.state import MOST_OPEN_TOOLS, RunFacts
from codex_adapter.events import (
    AGENT_KIND,
    ErrorSource,
    Event,
    HintNotice,
    Plan,
    TextPart,
    TextPhase,
    TokenUsage,
    Tool,
    ToolCall,
    ToolPhase,
)
from codex_adapter.hints import ADVICE

__all__ = ["Mapper"]

_FROM_ITEM = ErrorSource("item")
_FROM_LINE = ErrorSource("event")
_SANDBOX_NOTICE = HintNotice("sandbox_unavailable", ADVICE["sandbox_unavailable"])
_TEXT_PHASES: dict[ToolPhase, TextPhase] = {"start": "start", "delta": "snapshot", "complete": "complete"}


class Mapper:
    """Maps the thread events of one run and notes the facts that outlive them.

    `mask` is for the strings that outlive their line, and for names that are cut (X5). `payloads` makes the facet of a
    tool call with its payloads, None leaves them out (M7). `free_text` collects every other string of a line that an
    event passes on, for whoever masks the events; `long` says that one of these strings, or a name, is so long that an
    event may be over a bound (B6). `seq` is the number of the next event. `usage_before` is as of `RunShare`.
    """

    def __init__(
        self,
        mask: Callable[[str], str],
        payloads: FacetMaker | None = None,
        usage_before: Mapping[str, int] | None = None,
    ) -> None:
        self.facts = RunFacts()
        self._open_tools = self.facts.open_tools
        self.free_text: list[str] = []
        self.long = False
        self.seq = 0
        self._mask = mask
        self._payloads = payloads
        self._context = Context()
        self._session = SessionNotice()
        self._share = RunShare(usage_before, mask)
        self._has_agents = False
        self._sandbox_unproven = True  # no command has been started so far
        self._refused: Tool | None = None
        self._thread_seen: str | None = None
        self._thread_shown: str | None = None
        self._turn_seen: str | None = None
        self._turn_shown: str | None = None

    def map(self, lines: Iterable[te.ThreadEvent | BadLine]) -> list[Event]:
        """What the lines give, one logical event each (M0)."""
        out: list[Event] = []
        seq, waiting, thread_id = self.seq, self._session.waiting, self._context.thread_id
        for line in lines:
            phase = _PHASES.get(type(line))
            if (
                phase is not None  # what has a phase is the line of an item
                and line.turn_id is line.conversation_id is None  # type: ignore[union-attr]
                and (line.thread_id is None or line.thread_id == thread_id)  # type: ignore[union-attr]
                and not waiting
            ):
                item: te.Item = line.item  # type: ignore[union-attr]
                out.append(_ITEMS[type(item)](self, seq, item, phase))
                seq += 1
            else:
                self.seq = seq
                out += self._map_with_care(line)
                seq, waiting, thread_id = self.seq, self._session.waiting, self._context.thread_id
        self.seq = seq
        return out if self._refused is None else self._with_notice(out, self._refused)

    def _with_notice(self, events: list[Event], refused: Tool) -> list[Event]:
        """Return the events with a notice after the result of a command that the sandbox did not start (F12)."""
        self._refused = None
        self.seq += 1
        place = 1 + next(n for n, event in enumerate(events) if getattr(event.data, "tool", None) is refused)
        notice = error_event(events[place - 1].seq + 1, SANDBOX_FAILED, _SANDBOX_NOTICE)
        return [*events[:place], notice, *(replace(event, seq=event.seq + 1) for event in events[place:])]

    def _map_with_care(self, line: te.ThreadEvent | BadLine) -> list[Event]:
        """A line that is no item, or that comes with ids of its own or with news of the session (M9, M11)."""
        if isinstance(line, BadLine):
            self.facts.stalls += 1
            self.seq += 1
            return [error_event(self.seq - 1, line.message)]
        closed: list[Event] = []
        if self._has_agents and isinstance(line, te.TurnStarted) and line.turn_id is None:
            event = status_event(self.seq)  # a sub-agent's turn, of which nothing else is told
        else:
            self._context.place(line)
            self._show(line.thread_id, line.turn_id)
            if self._open_tools and isinstance(line, (te.TurnCompleted, te.TurnFailed)):
                closed = self.close_tools(self.seq)
                self.seq += len(closed)
            event = _LINES[type(line)](self, self.seq, line)
            self._show(self._context.thread_id, self._context.turn_id)
        events = self._session.put_on(event) if self._session.waiting else [event]
        self.seq += len(events)
        return closed + events if closed else events

    def close_tools(self, seq: int) -> list[Event]:
        """The results that close the tool calls without one, numbered from `seq`, and none of them is open now (M9)."""
        events, names = close_tools(self._open_tools, seq)
        self.free_text += names
        self.long |= any(len(name) > LONG_NAME for name in names)
        return events

    def finish(self) -> list[Event]:
        """What is left at the end of the stream: calls without a result (M9), a session id not told (M5)."""
        closed = self.close_tools(self.seq)
        events = [*closed, *self._session.at_the_end(self.seq + len(closed))]
        self.seq += len(events)
        return events

    def _show(self, thread_id: str | None, turn_id: str | None) -> None:
        """From now on these are the ids of tools, masked, and those of a thread as its events may show them (M5)."""
        if thread_id is not None and thread_id is not self._thread_seen:
            self._thread_seen = thread_id
            self._thread_shown = self._session.shown(thread_id, self._mask)
            self.facts.session_id = self._session.session_id
        if turn_id is not self._turn_seen:
            self._turn_seen = turn_id
            self._turn_shown = None if turn_id is None else self._mask(turn_id)
        self.long |= self._turn_shown is not None and len(self._turn_shown) > LONG_NAME

    def _thread_started(self, seq: int, _line: te.ThreadStarted) -> Event:
        self._has_agents = False
        return status_event(seq)

    def _turn_started(self, seq: int, _line: te.TurnStarted) -> Event:
        self.facts.turn = "cut_off"
        return status_event(seq)

    def _turn_completed(self, seq: int, line: te.TurnCompleted) -> Event:
        self.facts.turn = "completed"
        self.facts.usage = usage = None if line.usage is None else counts(line.usage, self._mask)
        self.facts.run_usage = self._share.at_turn_end(usage)
        return status_event(seq, None, None if usage is None else TokenUsage(usage))

    def _turn_failed(self, seq: int, line: te.TurnFailed) -> Event:
        self.facts.turn_failed(line.error)
        self.facts.run_usage = self._share.at_turn_end(None)
        return status_event(seq, "turn failed")

    def _error_line(self, seq: int, line: te.ErrorLine) -> Event:
        self.facts.error_told(line.message)
        return self._error(seq, line.message, _FROM_LINE)

    def _unknown(self, seq: int, line: te.Unknown) -> Event:
        return Event(seq, AGENT_KIND, "unknown", None, None, None, unknown_line(line, self._mask))

    def _item_line(self, seq: int, line: te.ItemStarted | te.ItemUpdated | te.ItemCompleted) -> Event:
        return _ITEMS[type(line.item)](self, seq, line.item, _PHASES[type(line)])

    def _item_failed(self, seq: int, line: te.ItemFailed) -> Event:
        """A failed tool call is its result; any other item is an error, with what the line says of it."""
        if isinstance(line.item, ToolItem):
            line.item.status = "failed"
            return self._tool(seq, line.item, "fail")
        return self._error(seq, failure(line), _FROM_ITEM)

    def _text(self, seq: int, item: te.AgentMessage | te.Reasoning, phase: ToolPhase) -> Event:
        text, item_id = item.text, item.id
        item_type = "reasoning"
        if type(item) is te.AgentMessage:
            item_type = "agent_message"
            if phase == "complete" and not item.delta:
                self.facts.final_text = text
        self.free_text.append(text)
        if len(text) > LONG_TEXT:
            self.long = True
        if len(item_id) >= SHORTEST_SECRET:
            self.free_text.append(item_id)
            if len(item_id) > LONG_NAME:
                self.long = True
        part = TextPart(item_id, item_type, "delta" if item.delta else _TEXT_PHASES[phase], 1, 1)
        return Event(seq, AGENT_KIND, "text_output", "assistant", text, None, part)

    def _plan(self, seq: int, item: te.TodoList, _phase: ToolPhase) -> Event:
        text = "\n".join([step.text for step in item.items])
        self.free_text.append(text)
        self.long |= len(text) + 7 * len(item.items) > LONG_PLAN
        return status_event(seq, None, Plan(item.items))

    def _warning(self, seq: int, item: te.ErrorItem, _phase: ToolPhase) -> Event:
        return self._error(seq, item.message, _FROM_ITEM)

    def _tool(self, seq: int, item: ToolItem, phase: ToolPhase) -> Event:
        tool = TOOLS[type(item)](item, phase, self._thread_shown, self._turn_shown)
        item_id = item.id
        if len(item_id) >= SHORTEST_SECRET:
            self.free_text.append(item_id)
            if len(item_id) > LONG_NAME:
                self.long = True
        if tool.tool_name is not None:
            self.free_text.append(tool.tool_name)
            if len(tool.tool_name) > LONG_NAME:
                self.long = True
        facet = ToolCall(tool, None, None) if self._payloads is None else self._payloads(tool, item)
        open_tools = self._open_tools
        if phase == "start" or phase == "delta":  # noqa: PLR1714 - no set is made for every event
            if len(open_tools) < MOST_OPEN_TOOLS or item_id in open_tools:
                open_tools[item_id] = tool
            return Event(seq, AGENT_KIND, "tool_call", "tool", None, None, facet)
        open_tools.pop(item_id, None)
        if self._sandbox_unproven:
            self._command_ended(item, tool)
        return Event(seq, AGENT_KIND, "tool_result", "tool", None, None, facet)

    def _command_ended(self, item: ToolItem, tool: Tool) -> None:
        if isinstance(item, te.CommandExecution) and tool.exit_code is not None:
            output = item.aggregated_output or item.stdout or item.stderr
            diagnosis = self.facts.diagnosis
            if diagnosis.command_ended(item.command, output, tool.exit_code):
                self._refused = tool
            self._sandbox_unproven = not diagnosis.sandbox

    def _agent_call(self, seq: int, item: te.CollabToolCall, phase: ToolPhase) -> Event:
        self._has_agents = True
        return self._tool(seq, item, phase)

    def _error(self, seq: int, message: str, source: ErrorSource) -> Event:
        self.free_text.append(message)
        self.long |= len(message) > LONG_MESSAGE
        return error_event(seq, message, source)


_PHASES: dict[type, ToolPhase] = {te.ItemCompleted: "complete", te.ItemStarted: "start", te.ItemUpdated: "delta"}
_LINES: dict[type, Callable[..., Event]] = {
    te.ThreadStarted: Mapper._thread_started,
    te.TurnStarted: Mapper._turn_started,
    te.TurnCompleted: Mapper._turn_completed,
    te.TurnFailed: Mapper._turn_failed,
    te.ErrorLine: Mapper._error_line,
    te.Unknown: Mapper._unknown,
    te.ItemFailed: Mapper._item_failed,
    **dict.fromkeys(_PHASES, Mapper._item_line),
}
_ITEMS: dict[type, Callable[..., Event]] = {
    te.AgentMessage: Mapper._text,
    te.Reasoning: Mapper._text,
    te.TodoList: Mapper._plan,
    te.ErrorItem: Mapper._warning,
    **dict.fromkeys(TOOLS, Mapper._tool),
    te.CollabToolCall: Mapper._agent_call,
}
