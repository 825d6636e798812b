"""Measure a lower bound for plain Python: decode the lines and create the most common events, without any promise.

No line is bounded, masked, assigned to its thread and turn, or remembered. Only lines that the current structs accept
are read, from memory, already split. The difference to the typed decode is the cost of the event objects and of the
bytecode that creates them. The difference to the pipeline is the cost of the promises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from benchmarks.measuring import Measured, Work, cpu_seconds
from codex_adapter.agents.codex.stream import lines as te
from codex_adapter.events import Event, TextPart, Tool, ToolBytes, ToolCall, ToolPhase

__all__ = ["bare_events"]

_BLOCK: Final = 65_536
_STATUSES: Final[dict[str, Any]] = {"in_progress": "running", "completed": "completed", "failed": "failed"}
_PHASES: Final[dict[type, ToolPhase]] = {te.ItemStarted: "start", te.ItemUpdated: "delta", te.ItemCompleted: "complete"}
_NO_BYTES: Final = ToolBytes()


def bare_events(work: Work) -> Measured:
    """The lines of a stream to events, as plainly as it can be done."""
    decode = msgspec.json.Decoder(te.DecodedEvent).decode_lines
    blocks, data = [], work.path.read_bytes()
    while data:
        end = data.find(b"\n", _BLOCK) + 1 or len(data)
        blocks.append(data[:end])
        data = data[end:]
    count = 0
    with cpu_seconds() as spent:
        for block in blocks:
            try:
                count += len(_events(decode(block)))
            except msgspec.MsgspecError:
                continue
    return Measured(spent.total, count)


def _events(lines: list[te.DecodedEvent]) -> list[Event]:
    events: list[Event] = []
    for seq, line in enumerate(lines):
        phase = _PHASES.get(type(line))
        if phase is None:
            events.append(Event(seq, "codex", "status", "status", None, None, None))
        else:
            item: te.Item = line.item  # type: ignore[union-attr]  # what has a phase is the line of an item
            events.append(_MAKERS.get(type(item), _other)(seq, item, phase))
    return events


def _text(seq: int, item: te.AgentMessage | te.Reasoning, _phase: ToolPhase) -> Event:
    part = TextPart(item.id, "agent_message", "complete", 1, 1)
    return Event(seq, "codex", "text_output", "assistant", item.text, None, part)


def _command(seq: int, item: te.CommandExecution, phase: ToolPhase) -> Event:
    size = ToolBytes(len(item.aggregated_output), 0, 0, 0)
    status = _STATUSES[item.status]
    return _tool(seq, Tool(item.id, None, None, "command_execution", phase, status, item.exit_code, size, None, None))


def _file_change(seq: int, item: te.FileChange, phase: ToolPhase) -> Event:
    status = _STATUSES[item.status]
    return _tool(seq, Tool(item.id, None, None, "file_change", phase, status, None, _NO_BYTES, None, None))


def _tool(seq: int, tool: Tool) -> Event:
    return Event(seq, "codex", "tool_result", "tool", None, None, ToolCall(tool, None, None))


def _other(seq: int, _item: te.Item, _phase: ToolPhase) -> Event:
    return Event(seq, "codex", "status", "status", None, None, None)


_MAKERS: Final[dict[type, Callable[..., Event]]] = {
    te.AgentMessage: _text,
    te.Reasoning: _text,
    te.CommandExecution: _command,
    te.FileChange: _file_change,
}
