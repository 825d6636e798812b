"""A turn told to a person: its events to lines of safe text (C13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from codex_adapter.cli.present.folding import Folding
from codex_adapter.cli.present.narration import Line, bare_command, first_line, last_lines, printable
from codex_adapter.protocols.turns import (
    AgentEvent,
    CompleteEvent,
    LogEvent,
    MessageDeltaEvent,
    MessageEvent,
    ToolCallEvent,
    ToolResultEvent,
)

__all__ = ["TurnWords"]


class TurnWords:
    """Tells one turn."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        self._growing = ""
        self._folding = Folding()

    def tell(self, event: AgentEvent) -> list[Line]:
        """The lines for one event; none for what a person knows, or has no use for."""
        lines = list(self._tell(event))
        if not isinstance(event, CompleteEvent):
            return self._folding.fold(lines)
        return [*self._folding.fold(lines[:-1]), *self._folding.end(), *lines[-1:]]

    def _tell(self, event: AgentEvent) -> Iterator[Line]:
        match event:
            case MessageDeltaEvent(delta=delta):
                self._growing += delta
            case MessageEvent(role="assistant", content=content):
                self._growing = ""
                yield from [Line("answer", printable(content))] if content else []
            case ToolCallEvent(tool_use_id=id_, tool_name=name, input=given):
                self._calls[id_] = label = _label(name, given)
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
                # A message that was cut off never came whole.
                yield from [Line("answer", printable(self._growing))] if self._growing else []
                yield Line("ok", "the turn is complete") if result.success else Line("failed", "the turn failed")

    def _result(self, event: ToolResultEvent) -> Iterator[Line]:
        label = self._calls.pop(event.tool_use_id, None) or first_line(event.tool_name)
        output = event.output
        code = output.get("exitCode") if isinstance(output, Mapping) else None
        told = label if code is None else f"{label} (exit {code})"
        if not event.is_error:
            yield Line("ok", told)
            return
        yield Line("failed", told)
        said = output
        if isinstance(output, Mapping):
            said = output.get("error") or output.get("output")
        yield from last_lines(said) if isinstance(said, str) else ()


def _label(name: str, given: Any) -> str:
    """A call in one line: the command, the files, or the name of what was called."""
    match given:
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
