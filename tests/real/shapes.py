"""Shorten events to words, so that a test can list what a run must report."""

from __future__ import annotations

from collections.abc import Iterable

from codex_adapter import Event
from codex_adapter.events import ErrorSource, Plan, SessionHandle, TextPart, TokenUsage, ToolCall

__all__ = ["is_warning", "shape"]


def shape(events: Iterable[Event]) -> list[str]:
    """One phrase for each event; the warnings that a release prints beside the matter are left out."""
    return [_phrase(event) for event in events if not is_warning(event)]


def is_warning(event: Event) -> bool:
    """Whether the event is an error item, as for a model that the CLI has no metadata for."""
    return isinstance(event.data, ErrorSource) and event.data.source == "item"


def _phrase(event: Event) -> str:
    match event.data:
        case SessionHandle():
            return "session"
        case TokenUsage():
            return "usage"
        case Plan(items):
            return f"plan {sum(item.completed for item in items)}/{len(items)}"
        case TextPart():
            return f"{event.data.item_type}: {event.text}"
        case ToolCall(tool):
            code = "" if tool.exit_code is None else f" {tool.exit_code}"
            return f"{event.kind} {tool.tool_name or tool.kind} {tool.status}{code}"
        case ErrorSource():
            return "notice"
        case _:
            return event.message or event.kind
