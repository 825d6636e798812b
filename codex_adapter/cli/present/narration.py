"""A run told to a person: events to lines of safe text, each with what kind of line it is (C7)."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from codex_adapter import AdapterError, BackendError, Completion, Event
from codex_adapter.cli.present.folding import Folding
from codex_adapter.events import ErrorSource, PayloadText, Plan, SessionHandle, TextPart, ToolCall, UnknownLine
from codex_adapter.text import TextAssembler

__all__ = ["Line", "Narrator", "Tone", "bare_command", "call_label", "first_line", "last_lines", "printable"]

Tone: TypeAlias = Literal[
    "answer", "thought", "started", "ok", "failed", "output", "plan", "notice", "warning", "error"
]

_UNFINISHED: Final[Mapping[str | None, str]] = {
    "failed": ", but the turn failed",
    "cut_off": ", but the turn was cut off",
    None: ", but no turn began",
}
_OUTPUT_LINES: Final = 5
_OUTPUT_WIDTH: Final = 200

# What moves the cursor, changes the terminal's state, or the order in which text is read; a tab and a line feed stay.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Line(NamedTuple):
    """Text to be shown, of one or more lines."""

    tone: Tone
    text: str


class _Open(NamedTuple):
    label: str
    since: float | None


def printable(text: str) -> str:
    """The text with a visible sign in the place of every character that a terminal would obey."""

    def sign(match: re.Match[str]) -> str:
        code = ord(match[0])
        return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"

    return _UNSAFE.sub(sign, text.replace("\r\n", "\n"))


class Narrator:
    """Tells one run. `clock` gives seconds; how long a tool call took is measured between its events.

    A clock that gives None does not know, and then no time is told. With `offsets`, each tool call is told with the
    time since the beginning of the run.
    """

    def __init__(self, clock: Callable[[], float | None] = time.monotonic, *, offsets: bool = False) -> None:
        self._clock = clock
        self._offsets = offsets
        self._began = clock()
        self._texts = TextAssembler()
        self._tools: dict[str | None, _Open] = {}
        self._folding = Folding()
        self.plan: list[str] = []

    @property
    def running(self) -> list[str]:
        """The tool calls that are open, with their seconds so far."""
        return [_with(tool.label, self._since(tool.since, digits=0)) for tool in self._tools.values()]

    @property
    def repeated(self) -> list[str]:
        """How often each of the last warnings and notices was repeated since it was shown."""
        return self._folding.pending

    def tell(self, event: Event) -> list[Line]:
        """The lines for one event; none for what is of no interest to a person, or repeats a warning."""
        return self._folding.fold(self._tell(event))

    def _tell(self, event: Event) -> list[Line]:
        match event.data:
            case TextPart():
                return self._text(event)
            case ToolCall() as call:
                return self._tool(call)
            case Plan(items=items):
                plan = [f"[{'x' if step.completed else ' '}] {printable(step.text)}" for step in items]
                told = plan == self.plan
                self.plan = plan
                return [] if told else [Line("plan", line) for line in plan]
            case SessionHandle(session=session):
                return [Line("notice", f"session {printable(session.id)}")]
            case UnknownLine(type=name, item_type=item):
                return [Line("notice", f"unknown event {printable(item or name or '')}".rstrip())]
        if event.message is None:
            return []
        warning = event.kind == "error" and isinstance(event.data, ErrorSource)
        return [Line("warning" if warning else "error", printable(event.message))]

    def end(self, outcome: Completion | AdapterError | None) -> list[Line]:
        """The last lines of the run; None where it is not known how it ended, or whether it has."""
        texts = [Line("answer", printable(text)) for text in (text.text for text in self._texts.open) if text]
        lines = [*self._folding.fold(texts), *self._folding.end()]
        took = self._since(self._began)
        if outcome is None:
            lines += [Line("started", f"not ended: {label}") for label in self.running]
            told = "no completion: the run still goes on, or who wrote this was killed"
            return [*lines, Line("warning", _with(told, took))]
        known = outcome.advice if isinstance(outcome, Completion | BackendError) and outcome.hint is not None else None
        advice = [] if known is None else [Line("warning", printable(known))]
        if not isinstance(outcome, Completion):
            return [*lines, *advice, Line("error", _with(f"failed: {printable(str(outcome))}", took))]
        usage = outcome.usage or {}
        if usage:
            counts = f"{usage.get('input_tokens', 0):,} in, {usage.get('output_tokens', 0):,} out"
            lines.append(Line("notice", f"tokens: {counts}, {usage.get('cached_input_tokens', 0):,} cached"))
        if outcome.status.success:
            turn = _UNFINISHED.get(outcome.turn, "")
            return [*lines, *advice, Line("ok" if outcome.ok else "error", _with(f"completed{turn}", took))]
        return [*lines, *advice, Line("failed", _with(f"ended with {outcome.status}", took))]

    def _since(self, then: float | None, *, digits: int = 1) -> list[str]:
        now = self._clock()
        return [] if now is None or then is None else [f"{max(0.0, now - then):.{digits}f} s"]

    def _offset(self) -> list[str]:
        return [f"at {facts}" for facts in self._since(self._began)] if self._offsets else []

    def _text(self, event: Event) -> list[Line]:
        text = self._texts.receive(event)
        if text is None or not text.complete or not text.text:
            return []
        return [Line("thought" if text.item_type == "reasoning" else "answer", printable(text.text))]

    def _tool(self, call: ToolCall) -> list[Line]:
        tool = call.tool
        if tool.phase in ("start", "delta"):
            known = tool.backend_item_id in self._tools
            label = call_label(call)
            self._tools.setdefault(tool.backend_item_id, _Open(label, self._clock()))
            return [] if known else [Line("started", _with(label, self._offset()))]
        begun = self._tools.pop(tool.backend_item_id, None)
        facts = [] if tool.exit_code is None else [f"exit {tool.exit_code}"]
        if begun is not None:
            facts += self._since(begun.since)
        else:
            facts += self._offset()
        if tool.status == "completed":
            return [Line("ok", _with(call_label(call), facts))]
        return [Line("failed", _with(call_label(call), [tool.status, *facts])), *_tail(call)]


def _with(label: str, facts: Iterable[str]) -> str:
    told = ", ".join(facts)
    return f"{label} ({told})" if told else label


def call_label(call: ToolCall) -> str:
    """A tool call in one line of safe text: the command, the files, or the name of what was called."""
    given, kind = call.input, call.tool.kind
    if given is not None and given.command is not None:
        return f"$ {first_line(bare_command(given.command.text))}"
    if given is not None and given.changes is not None:
        return f"files: {first_line(_changes(given.changes))}"
    if given is not None and given.query is not None and given.query.text:
        return f"search: {first_line(given.query.text)}"
    name = call.tool.tool_name
    return f"{kind}: {first_line(name)}" if name else kind


def first_line(text: str) -> str:
    """The first line of a text, safe and not long, with a sign that there is more."""
    line, _, more = printable(text).strip().partition("\n")
    return line[:_OUTPUT_WIDTH] + ("…" if more or len(line) > _OUTPUT_WIDTH else "")


def bare_command(command: str) -> str:
    """What the shell was given, without the shell that the CLI puts around every command."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 and words[1] == "-lc" else command


class _Change(msgspec.Struct):
    path: str
    kind: str


def _changes(changes: PayloadText) -> str:
    try:
        return ", ".join(
            f"{change.kind} {change.path}" for change in msgspec.json.decode(changes.text, type=list[_Change])
        )
    except msgspec.MsgspecError:
        return changes.text


def _tail(call: ToolCall) -> list[Line]:
    """The end of what a failed tool put out."""
    output = call.output
    if output is None:
        return []
    said = output.error or output.aggregated_output or output.result
    return [] if said is None else last_lines(said.text)


def last_lines(output: str) -> list[Line]:
    """The end of an output, a few lines of safe text that are not long."""
    lines = printable(output).strip().split("\n") if output.strip() else []
    return [Line("output", line[:_OUTPUT_WIDTH]) for line in lines[-_OUTPUT_LINES:]]
