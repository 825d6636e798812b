"""Narrate one run: convert its events and its outcome to lines of safe text (C7)."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from codex_adapter import AdapterError, BackendError, Completion, Event
from codex_adapter.cli.present.folding import Folding
from codex_adapter.cli.present.lines import Line, Tone, first_line, last_lines, printable, with_facts
from codex_adapter.cli.present.wording import (
    cost,
    count_tokens,
    describe_agent,
    describe_limit,
    describe_retry,
    tokens,
    used_by,
)
from codex_adapter.events import (
    TURN_FAILED,
    AgentInfo,
    ErrorSource,
    PayloadText,
    Plan,
    PlanItem,
    RateLimit,
    Retry,
    SessionHandle,
    TextPart,
    ToolCall,
    UnknownLine,
)
from codex_adapter.records import CompletedRecord, FailedRecord
from codex_adapter.text import TextAssembler

__all__ = ["RunItem", "RunNarrator", "bare_command", "call_label", "outcome_of"]

RunItem: TypeAlias = Event | Completion | AdapterError
"""An item of a run: an event, or the one outcome at the end."""

_UNFINISHED: Final[Mapping[str | None, str]] = {
    "failed": ", but the turn failed",
    "cut_off": ", but the turn was cut off",
    None: ", but no turn began",
}
_MOST_LIVE: Final = 5
_SUB_AGENT: Final = "sub-agent: "
_PATHS: Final = ("file_path", "path", "notebook_path")
_QUERIES: Final = ("pattern", "query")
"""Members of the arguments of tools, as agents name them."""


def outcome_of(record: CompletedRecord | FailedRecord) -> Completion | BackendError:
    """Return the outcome in a completion record (W2)."""
    if isinstance(record, CompletedRecord):
        return record.completion
    error = BackendError("other", record.error.message, hint=record.error.hint, advice=record.error.advice)
    error.run_usage, error.cost_usd = record.run_usage, record.cost_usd
    return error


class _Open(NamedTuple):
    label: str
    since: float | None


class RunNarrator:
    """A narrator of one run. `clock` returns seconds, to measure the time between the events of a tool call.

    If the clock returns None, no time is shown. With `offsets`, each tool call is shown with the time since the start
    of the run.
    """

    live_tones: frozenset[Tone] = frozenset({"started", "plan"})
    """The tones of lines that a terminal shows only while they are current."""

    def __init__(self, clock: Callable[[], float | None] = time.monotonic, *, offsets: bool = False) -> None:
        self._clock = clock
        self._offsets = offsets
        self._began = clock()
        self._texts = TextAssembler()
        self._tools: dict[str | None, _Open] = {}
        self._folding = Folding()
        self._plan: list[Line] = []
        self._ended = False

    @property
    def live(self) -> list[Line]:
        """The plan, the open tool calls with their seconds so far, and the counts of repeated warnings."""
        if self._ended:
            return []
        repeated = [Line("warning", count) for count in self._folding.pending[-_MOST_LIVE:]]
        return [*self._plan, *self._list_running()[-_MOST_LIVE:], *repeated]

    def narrate(self, item: RunItem | None) -> list[Line]:
        """Return the lines of an event or of the outcome; none for a repeated warning or an event without content.

        The outcome None means that the run has no completion, or not yet.
        """
        if isinstance(item, Event):
            return self._folding.fold(self._event(item))
        self._ended = True
        return self._end(item)

    def _list_running(self) -> list[Line]:
        open_tools = self._tools.values()
        return [Line("started", with_facts(tool.label, self._since(tool.since, digits=0))) for tool in open_tools]

    def _event(self, event: Event) -> list[Line]:
        match event.data:
            case TextPart():
                return self._text(event)
            case ToolCall() as call:
                return self._tool(call)
            case Plan(items=items):
                plan = [Line("plan", f"[{_mark(step)}] {printable(step.text)}") for step in items]
                known, self._plan = self._plan, plan
                return [] if plan == known else plan
            case SessionHandle(session=session):
                return [Line("notice", f"session {printable(session.id)}")]
            case UnknownLine(type=name, item_type=item):
                return [Line("notice", f"unknown event {printable(item or name or '')}".rstrip())]
            case Retry() as retry:
                return [Line("warning", describe_retry(retry))]
            case RateLimit() as limit:
                text = describe_limit(limit)
                return [] if text is None else [Line("warning", printable(text))]
            case AgentInfo() as info:
                return [Line("notice", printable(describe_agent(info)))]
        if event.message is None:
            return []
        tone: Tone = "error"
        if isinstance(event.data, ErrorSource):
            tone = "warning"
        elif event.kind == "status" and event.message != TURN_FAILED:
            tone = "notice"
        return [Line(tone, printable(event.message))]

    def _end(self, outcome: Completion | AdapterError | None) -> list[Line]:
        texts = [Line("answer", printable(text)) for text in (text.text for text in self._texts.open) if text]
        lines = [*self._folding.fold(texts), *self._folding.end()]
        took = self._since(self._began)
        if outcome is None:
            lines += [Line("started", f"not ended: {tool.text}") for tool in self._list_running()]
            unknown = "no completion: the run is still active, or its writer was killed"
            return [*lines, Line("warning", with_facts(unknown, took))]
        known = outcome.advice if isinstance(outcome, Completion | BackendError) and outcome.hint is not None else None
        advice = [] if known is None else [Line("warning", printable(known))]
        if isinstance(outcome, Completion | BackendError):
            lines += _used(outcome)
        if not isinstance(outcome, Completion):
            return [*lines, *advice, Line("error", with_facts(f"failed: {printable(str(outcome))}", took))]
        if outcome.status.success:
            turn = _UNFINISHED.get(outcome.turn, "")
            return [*lines, *advice, Line("ok" if outcome.ok else "error", with_facts(f"completed{turn}", took))]
        return [*lines, *advice, Line("failed", with_facts(f"ended with {outcome.status}", took))]

    def _since(self, then: float | None, *, digits: int = 1) -> list[str]:
        now = self._clock()
        return [] if now is None or then is None else [f"{max(0.0, now - then):.{digits}f} s"]

    def _offset(self) -> list[str]:
        return [f"at {facts}" for facts in self._since(self._began)] if self._offsets else []

    def _text(self, event: Event) -> list[Line]:
        text = self._texts.receive(event)
        if text is None or not text.complete or not text.text:
            return []
        if text.parent_id is not None:
            return [Line("thought", f"{_SUB_AGENT}{printable(text.text)}")]
        return [Line("thought" if text.item_type == "reasoning" else "answer", printable(text.text))]

    def _tool(self, call: ToolCall) -> list[Line]:
        tool = call.tool
        if tool.phase in ("start", "delta"):
            known = tool.backend_item_id in self._tools
            label = call_label(call)
            self._tools.setdefault(tool.backend_item_id, _Open(label, self._clock()))
            return [] if known else [Line("started", with_facts(label, self._offset()))]
        begun = self._tools.pop(tool.backend_item_id, None)
        facts = [] if tool.exit_code is None else [f"exit {tool.exit_code}"]
        if begun is not None:
            facts += self._since(begun.since)
        else:
            facts += self._offset()
        label = call_label(call) if begun is None or call.has_input else begun.label
        if tool.status == "completed":
            return [Line("ok", with_facts(label, facts))]
        return [Line("failed", with_facts(label, [tool.status, *facts])), *_tail(call)]


def call_label(call: ToolCall) -> str:
    """Return a tool call as one line of safe text: the command, the files, the query or the name of the tool."""
    label = _call_label(call)
    return label if call.tool.parent_id is None else f"{_SUB_AGENT}{label}"


def _call_label(call: ToolCall) -> str:
    tool_input, kind = call.input, call.tool.kind
    if tool_input is not None and tool_input.command is not None:
        return f"$ {first_line(bare_command(tool_input.command.text))}"
    if tool_input is not None and tool_input.changes is not None:
        return f"files: {first_line(_changes(tool_input.changes))}"
    if tool_input is not None and tool_input.query is not None and tool_input.query.text:
        query = tool_input.query.text
        return f"search: {first_line(_member(query, _QUERIES) or query)}"
    name = call.tool.tool_name
    if not name:
        return kind
    path = _member(tool_input.arguments.text, _PATHS) if tool_input is not None and tool_input.arguments else None
    return f"{kind}: {first_line(name if path is None else f'{name} {path}')}"


def _mark(step: PlanItem) -> str:
    return "x" if step.completed else ">" if step.status == "in_progress" else " "


def bare_command(command: str) -> str:
    """Return a command without the shell call that an agent puts around it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 and words[1] == "-lc" else command


class _Change(msgspec.Struct):
    path: str
    kind: str


def _used(outcome: Completion | BackendError) -> list[Line]:
    """Return what the run has used, as far as it is known (F15)."""
    used = used_by(outcome)
    lines: list[Line] = []
    if used.tokens:
        counts = f"{tokens(used.tokens)}, {count_tokens(used.tokens, 'cached'):,} cached"
        lines.append(Line("notice", f"tokens: {used.bound}{counts}"))
    if used.cost_usd is not None:
        lines.append(Line("notice", f"cost: {used.bound}{cost(used.cost_usd)}"))
    return lines


def _changes(changes: PayloadText) -> str:
    try:
        return ", ".join(
            f"{change.kind} {change.path}" for change in msgspec.json.decode(changes.text, type=list[_Change])
        )
    except msgspec.MsgspecError:
        return _member(changes.text, _PATHS) or changes.text


def _member(text: str, names: Sequence[str]) -> str | None:
    """Return the first of these members of a JSON object that is a string with content."""
    try:
        found = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    return next((value for name in names if isinstance(value := found.get(name), str) and value), None)


def _tail(call: ToolCall) -> list[Line]:
    """Return the end of the output of a failed tool."""
    output = call.output
    if output is None:
        return []
    shown = output.error or output.aggregated_output or output.result
    return [] if shown is None else last_lines(shown.text)
