"""Decode the lines of `codex exec --json` into events (M0 to M11).

One line becomes one event. Additional events report the session, tool calls that a turn leaves open, and a sandbox that
does not start. (M5, M9, F12)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final

import msgspec
from typing_extensions import override

from codex_adapter.agents.codex.advice import ADVICE
from codex_adapter.agents.codex.kind import KIND
from codex_adapter.agents.codex.stream import lines as te
from codex_adapter.agents.codex.stream.context import Context
from codex_adapter.agents.codex.stream.diagnosis import Diagnosis, StderrTail
from codex_adapter.agents.codex.stream.line_parser import parse_lines
from codex_adapter.agents.codex.stream.payloads import with_payloads
from codex_adapter.agents.codex.stream.tools import TOOLS, ToolItem
from codex_adapter.agents.codex.stream.usage import RunShare, counts
from codex_adapter.core.bad_lines import BadLine
from codex_adapter.core.bounds import LONG_MESSAGE, LONG_NAME, LONG_PLAN, LONG_TEXT
from codex_adapter.core.decoder import Decoded, Decoder
from codex_adapter.core.framing import Line
from codex_adapter.core.masking.masker import SHORTEST_SECRET, Masker
from codex_adapter.core.notices import error_event, status_event
from codex_adapter.core.sandbox_watch import sandbox_failed
from codex_adapter.core.session_notice import SessionNotice
from codex_adapter.events import (
    TURN_FAILED,
    ErrorSource,
    Event,
    ExitStatus,
    Plan,
    PlanItem,
    TextPart,
    TextPhase,
    TokenUsage,
    Tool,
    ToolCall,
    ToolPhase,
)
from codex_adapter.hints import Hint

__all__ = ["CodexDecoder"]


_FROM_ITEM: Final = ErrorSource("item")
_FROM_LINE: Final = ErrorSource("event")
_TEXT_OF_STEP: Final = attrgetter("text")
# Copying the steps in C is five times less work than a call for each.
_plan_items: Callable[[Sequence[te.TodoStep]], tuple[PlanItem, ...]] = partial(
    msgspec.convert, type=tuple[PlanItem, ...], from_attributes=True
)
_TEXT_PHASES: Final[Mapping[ToolPhase, TextPhase]] = {"start": "start", "delta": "snapshot", "complete": "complete"}


class CodexDecoder(Decoder):
    """Decode one run of the Codex CLI.

    `masker` masks names that are cut, and strings that are kept longer than their line. With `full_payloads`, the facet
    of a tool call has its payloads. `usage_before` has the token counts of the session before the run, or None.
    `sandboxed` is true if the CLI runs commands in its own sandbox. (X5, M7, F10, F12)
    """

    def __init__(
        self,
        masker: Masker,
        *,
        full_payloads: bool = False,
        usage_before: Mapping[str, int] | None = None,
        sandboxed: bool = True,
    ) -> None:
        super().__init__(KIND)
        self._masker = masker
        self._mask = masker.mask_name
        self._full_payloads = full_payloads
        self._context = Context()
        self._session = SessionNotice(KIND)
        self._share = RunShare(usage_before, self._mask)
        self._diagnosis = Diagnosis()
        self._failed_at = 0
        self._stderr = StderrTail()
        self._stderr_hint: Hint | None = None
        self._sandboxed = sandboxed
        self._sandbox_unproven = True  # no command has started yet
        self._refused: Tool | None = None
        self._has_agents = False
        self._last_message: str | None = None
        self._free_text: list[str] = []
        self._long = False
        self._thread_seen: str | None = None
        self._thread_shown: str | None = None
        self._turn_seen: str | None = None
        self._turn_shown: str | None = None

    @override
    def decode(self, lines: Sequence[Line]) -> Decoded:
        """Implement `Decoder.decode` (M0)."""
        parsed = parse_lines(lines)
        self.state.lines_received(len(parsed))
        out: list[Event] = []
        waiting, thread_id = self._session.waiting, self._context.thread_id
        for line in parsed:
            phase = _PHASES.get(type(line))
            if (
                phase is not None  # the line has an item
                and line.turn_id is line.conversation_id is None  # type: ignore[union-attr]
                and (line.thread_id is None or line.thread_id == thread_id)  # type: ignore[union-attr]
                and not waiting
            ):
                item: te.Item = line.item  # type: ignore[union-attr]
                out.append(_ITEMS[type(item)](self, item, phase))
            else:
                self._decode_with_care(line, out)
                waiting, thread_id = self._session.waiting, self._context.thread_id
        if self._last_message is not None:
            self.state.message_completed(self._last_message)
            self._last_message = None
        if self._diagnosis.noted:
            self._look_for_recovery(out)
        if self._refused is not None:
            self._insert_notice(out, self._refused)
        return self._decoded(out)

    @override
    def finish(self) -> Decoded:
        """Return results for open calls, and the session id if no event has reported it (M9, M5)."""
        events = self._close_tools()
        events += self._session.finish()
        return self._decoded(events)

    @override
    def close_tools(self) -> Decoded:
        """Implement `Decoder.close_tools` (M9)."""
        return self._decoded(self._close_tools())

    @override
    def receive_stderr(self, data: bytes) -> None:
        """Implement `Decoder.receive_stderr`. The CLI prints some causes only on stderr. (F9, S9)"""
        if data:
            self._stderr.receive(data)
            return
        hint = self._stderr.take_hint()
        self._stderr_hint = hint if self._sandboxed or hint != "sandbox_unavailable" else None

    @property
    @override
    def session_missing(self) -> bool:
        """Whether the CLI reported on stderr that the session does not exist."""
        return self._stderr.session_missing

    @property
    @override
    def hint(self) -> Hint | None:
        """The hint of the last error, or None."""
        return self._diagnosis.hint

    @override
    def explain(self, status: ExitStatus, *, lingered: bool) -> Hint | None:
        """Implement `Decoder.explain` (F9, F12)."""
        if lingered:
            return self._diagnosis.hint_of_sandbox(self._stderr_hint)
        return self._diagnosis.explain(status, self.state.turn, self._stderr_hint)

    def _decoded(self, events: list[Event]) -> Decoded:
        decoded = Decoded(events, self._free_text, self._long)
        if self._free_text:
            self._free_text = []
        self._long = False
        return decoded

    def _insert_notice(self, events: list[Event], refused: Tool) -> None:
        """Insert a notice after the result of a command that the sandbox did not start (F12)."""
        self._refused = None
        place = 1 + next(n for n, event in enumerate(events) if getattr(event.data, "tool", None) is refused)
        events.insert(place, sandbox_failed(KIND, ADVICE["sandbox_unavailable"]))

    def _look_for_recovery(self, events: Sequence[Event]) -> None:
        """Drop the hint of an error if any event other than an error follows it (F9)."""
        after, self._failed_at = events[self._failed_at :], 0
        if any(event.kind != "error" for event in after):
            self._diagnosis.recover()

    def _decode_with_care(self, line: te.ThreadEvent | BadLine, out: list[Event]) -> None:
        """Decode a line that is not an item, that has its own ids, or that the session notice waits for (M9, M11)."""
        if isinstance(line, BadLine):
            self.state.line_stalled()
            out.append(error_event(KIND, line.message))
            return
        if self._has_agents and isinstance(line, te.TurnStarted) and line.turn_id is None:
            event = status_event(KIND)  # the turn of a sub-agent; the CLI prints only its start
        else:
            self._context.place(line)
            self._show(line.thread_id, line.turn_id)
            if self.state.open_tools and isinstance(line, (te.TurnCompleted, te.TurnFailed)):
                out += self._close_tools()
            event = _LINES[type(line)](self, line)
            self._show(self._context.thread_id, self._context.turn_id)
        if self._session.waiting:
            out += self._session.attach_to(event)
        else:
            out.append(event)
        if type(line) in _FAILURES:
            self._failed_at = len(out)

    def _close_tools(self) -> list[Event]:
        for tool in self.state.open_tools.values():
            for name in (tool.backend_item_id, tool.tool_name, tool.turn_id):
                if name is not None:
                    self._free_text.append(name)
                    self._long |= len(name) > LONG_NAME
        return self.state.close_tools()

    def _show(self, thread_id: str | None, turn_id: str | None) -> None:
        """Set the masked ids for the next events, the thread's in the form that its events may show (M5)."""
        if thread_id is not None and thread_id is not self._thread_seen:
            self._thread_seen = thread_id
            self._thread_shown = self._session.mask_id(thread_id, self._mask)
            if self._session.session_id is not None:
                self.state.session_started(self._session.session_id)
        if turn_id is not self._turn_seen:
            self._turn_seen = turn_id
            self._turn_shown = None if turn_id is None else self._mask(turn_id)
        self._long |= self._turn_shown is not None and len(self._turn_shown) > LONG_NAME

    def _thread_started(self, _line: te.ThreadStarted) -> Event:
        self._has_agents = False
        return status_event(KIND)

    def _turn_started(self, _line: te.TurnStarted) -> Event:
        self.state.turn_started()
        return status_event(KIND)

    def _turn_completed(self, line: te.TurnCompleted) -> Event:
        usage = None if line.usage is None else counts(line.usage, self._mask)
        self.state.turn_completed(usage, self._share.at_turn_end(usage))
        return status_event(KIND, None, None if usage is None else TokenUsage(usage))

    def _turn_failed(self, line: te.TurnFailed) -> Event:
        self._diagnosis.note(line.error)
        self._share.at_turn_end(None)
        self.state.turn_failed()
        return status_event(KIND, TURN_FAILED)

    def _error_line(self, line: te.ErrorLine) -> Event:
        self.state.line_stalled()
        self._diagnosis.note(line.message)
        return self._error(line.message, _FROM_LINE)

    def _unknown(self, line: te.Unknown) -> Event:
        return Event(0, KIND, "unknown", None, None, None, line.names(self._mask))

    def _item_line(self, line: te.ItemStarted | te.ItemUpdated | te.ItemCompleted) -> Event:
        return _ITEMS[type(line.item)](self, line.item, _PHASES[type(line)])

    def _item_failed(self, line: te.ItemFailed) -> Event:
        """Return the result of a failed tool call, or for any other item an error with the line's message."""
        if isinstance(line.item, ToolItem):
            line.item.status = "failed"
            return self._tool(line.item, "fail")
        return self._error(line.message(), _FROM_ITEM)

    def _text(self, item: te.AgentMessage | te.Reasoning, phase: ToolPhase) -> Event:
        text, item_id = item.text, item.id
        item_type = "reasoning"
        if type(item) is te.AgentMessage:
            item_type = "agent_message"
            if phase == "complete" and not item.delta:
                self._last_message = text
        self._free_text.append(text)
        if len(text) > LONG_TEXT:
            self._long = True
        if len(item_id) >= SHORTEST_SECRET:
            self._free_text.append(item_id)
            if len(item_id) > LONG_NAME:
                self._long = True
        part = TextPart(item_id, item_type, "delta" if item.delta else _TEXT_PHASES[phase], 1, 1)
        return Event(0, KIND, "text_output", "assistant", text, None, part)

    def _plan(self, item: te.TodoList, _phase: ToolPhase) -> Event:
        text = "\n".join(map(_TEXT_OF_STEP, item.items))
        self._free_text.append(text)
        self._long |= len(text) + 7 * len(item.items) > LONG_PLAN
        return status_event(KIND, None, Plan(_plan_items(item.items)))

    def _warning(self, item: te.ErrorItem, _phase: ToolPhase) -> Event:
        return self._error(item.message, _FROM_ITEM)

    def _tool(self, item: ToolItem, phase: ToolPhase) -> Event:
        tool = TOOLS[type(item)](item, phase, self._thread_shown, self._turn_shown)
        item_id = item.id
        if len(item_id) >= SHORTEST_SECRET:
            self._free_text.append(item_id)
            if len(item_id) > LONG_NAME:
                self._long = True
        if tool.tool_name is not None:
            self._free_text.append(tool.tool_name)
            if len(tool.tool_name) > LONG_NAME:
                self._long = True
        if self._full_payloads:
            facet = with_payloads(tool, item, self._masker, self._free_text)
        else:
            facet = ToolCall(tool, None, None)
        if phase == "start" or phase == "delta":  # noqa: PLR1714 - a set would be built for every event
            self.state.tool_opened(item_id, tool)
            return Event(0, KIND, "tool_call", "tool", None, None, facet)
        self.state.tool_closed(item_id)
        if self._sandbox_unproven:
            self._command_ended(item, tool)
        return Event(0, KIND, "tool_result", "tool", None, None, facet)

    def _command_ended(self, item: ToolItem, tool: Tool) -> None:
        if isinstance(item, te.CommandExecution) and tool.exit_code is not None:
            output = item.aggregated_output or item.stdout or item.stderr
            if self._diagnosis.command_ended(item.command, output, tool.exit_code):
                self._refused = tool
            self._sandbox_unproven = not self._diagnosis.sandbox.works

    def _agent_call(self, item: te.CollabToolCall, phase: ToolPhase) -> Event:
        self._has_agents = True
        return self._tool(item, phase)

    def _error(self, message: str, source: ErrorSource) -> Event:
        self._free_text.append(message)
        self._long |= len(message) > LONG_MESSAGE
        return error_event(KIND, message, source)


_PHASES: dict[type, ToolPhase] = {te.ItemCompleted: "complete", te.ItemStarted: "start", te.ItemUpdated: "delta"}
_FAILURES: frozenset[type] = frozenset((te.ErrorLine, te.TurnFailed))
_LINES: dict[type, Callable[..., Event]] = {
    te.ThreadStarted: CodexDecoder._thread_started,
    te.TurnStarted: CodexDecoder._turn_started,
    te.TurnCompleted: CodexDecoder._turn_completed,
    te.TurnFailed: CodexDecoder._turn_failed,
    te.ErrorLine: CodexDecoder._error_line,
    te.Unknown: CodexDecoder._unknown,
    te.ItemFailed: CodexDecoder._item_failed,
    **dict.fromkeys(_PHASES, CodexDecoder._item_line),
}
_ITEMS: dict[type, Callable[..., Event]] = {
    te.AgentMessage: CodexDecoder._text,
    te.Reasoning: CodexDecoder._text,
    te.TodoList: CodexDecoder._plan,
    te.ErrorItem: CodexDecoder._warning,
    **dict.fromkeys(TOOLS, CodexDecoder._tool),
    te.CollabToolCall: CodexDecoder._agent_call,
}
