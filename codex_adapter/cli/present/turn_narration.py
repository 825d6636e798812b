"""Narrate one turn: convert its events to lines of safe text (C13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from codex_adapter.cli.present.folding import Folding
from codex_adapter.cli.present.lines import Line, first_line, last_lines, printable
from codex_adapter.cli.present.run_narration import bare_command
from codex_adapter.protocols.turns import (
    AgentEvent,
    CompleteEvent,
    LogEvent,
    MessageDeltaEvent,
    MessageEvent,
    ToolCallEvent,
    ToolResultEvent,
)

__all__ = ["TurnNarrator"]


class TurnNarrator:
    """A narrator of one turn."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        self._growing = ""
        self._folding = Folding()

    def narrate(self, event: AgentEvent) -> list[Line]:
        """Return the lines of an event; none for an event that a person does not need."""
        lines = list(self._lines(event))
        if not isinstance(event, CompleteEvent):
            return self._folding.fold(lines)
        return [*self._folding.fold(lines[:-1]), *self._folding.end(), *lines[-1:]]

    def _lines(self, event: AgentEvent) -> Iterator[Line]:
        match event:
            case MessageDeltaEvent(delta=delta):
                self._growing += delta
            case MessageEvent(role="assistant", content=content):
                self._growing = ""
                yield from [Line("answer", printable(content))] if content else []
            case ToolCallEvent(tool_use_id=id_, tool_name=name, input=arguments):
                self._calls[id_] = label = _label(name, arguments)
                yield Line("started", label)
            case ToolResultEvent():
                yield from self._result(event)
            case LogEvent(message="plan", fields={"items": [*steps]}):
                yield from map(_step, steps)
            case LogEvent(level="warn" | "error", message=message):
                yield Line("warning", printable(message))
            case LogEvent(level="info", message=message):
                yield Line("notice", first_line(message))
            case CompleteEvent(result=result):
                # No event has the whole text of a message that was cut off.
                yield from [Line("answer", printable(self._growing))] if self._growing else []
                yield Line("ok", "the turn is complete") if result.success else Line("failed", "the turn failed")

    def _result(self, event: ToolResultEvent) -> Iterator[Line]:
        label = self._calls.pop(event.tool_use_id, None) or first_line(event.tool_name)
        output = event.output
        code = output.get("exitCode") if isinstance(output, Mapping) else None
        text = label if code is None else f"{label} (exit {code})"
        yield Line("failed" if event.is_error else "ok", text)
        if event.is_error:
            shown = (output.get("error") or output.get("output")) if isinstance(output, Mapping) else output
            yield from last_lines(shown) if isinstance(shown, str) else ()


def _label(name: str, arguments: Any) -> str:
    """Return a tool call as one line: the command, the files, the query or the name of the tool."""
    match arguments:
        case {"command": str(command)}:
            return f"$ {first_line(bare_command(command))}"
        case {"changes": [*changes]}:
            return f"files: {first_line(', '.join(map(_change, changes)))}"
        case {"query": str(query)} if query:
            return f"search: {first_line(query)}"
    return first_line(name)


def _change(change: Any) -> str:
    match change:
        case {"path": str(path), "kind": str(kind)}:
            return f"{kind} {path}"
    return "?"


def _step(step: Any) -> Line:
    match step:
        case {"text": str(text), "completed": completed}:
            return Line("plan", f"[{'x' if completed else ' '}] {printable(text)}")
    return Line("plan", "[ ]")
