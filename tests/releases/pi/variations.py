"""Define the differences between two runs of one release of pi that are not findings."""

from __future__ import annotations

from tests.releases.subject import Line, Variation

__all__ = ["VARIATIONS"]


def _without_updates(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line.get("type") != "tool_execution_update"]


def _without_copies(lines: list[Line]) -> list[Line]:
    return [_without_copy(line) for line in lines]


def _without_copy(line: Line) -> Line:
    if line.get("type") == "message_update":
        return {
            **line,
            "assistantMessageEvent": {**line["assistantMessageEvent"], "partial": 0},
            "message": 0,
            "usage": 0,
        }
    if line.get("type") == "message_start" and line["message"]["role"] == "assistant":
        return {**line, "message": {name: line["message"].get(name) for name in ("role", "provider", "model")}}
    return line


VARIATIONS: tuple[Variation, ...] = (
    Variation("the output of a command arrives in any number of pieces", _without_updates),
    Variation("the copy of the message in a piece of it is a moment older or newer", _without_copies),
)
