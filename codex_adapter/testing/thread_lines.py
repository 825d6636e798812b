"""The lines that the Codex CLI prints, as builders: each gives the JSON object of one line.

Names and shapes are those of the newest release; `PrintJson(agent_message("item_0", "Hello."))` prints one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

__all__ = [
    "agent_message",
    "command_completed",
    "command_started",
    "error",
    "error_item",
    "file_change",
    "reasoning",
    "thread_started",
    "turn_completed",
    "turn_failed",
    "turn_started",
]

Line = dict[str, Any]

THREAD_ID = "0199a213-81c0-7800-8aa1-bbab2a035a53"


def thread_started(thread_id: str = THREAD_ID) -> Line:
    """The first line of every run."""
    return {"type": "thread.started", "thread_id": thread_id}


def turn_started() -> Line:
    """A turn begins."""
    return {"type": "turn.started"}


def turn_completed(usage: Mapping[str, int] | None = None) -> Line:
    """The last line of a turn that went well; `usage` changes some of the counts."""
    counts = {
        "input_tokens": 100,
        "cached_input_tokens": 40,
        "cache_write_input_tokens": 0,
        "output_tokens": 20,
        "reasoning_output_tokens": 5,
    }
    return {"type": "turn.completed", "usage": {**counts, **(usage or {})}}


def turn_failed(message: str) -> Line:
    """The last line of a turn that failed."""
    return {"type": "turn.failed", "error": {"message": message}}


def error(message: str) -> Line:
    """An error line; most are notices of a reconnect."""
    return {"type": "error", "message": message}


def agent_message(item_id: str, text: str) -> Line:
    """The agent says something."""
    return _item("completed", item_id, "agent_message", text=text)


def reasoning(item_id: str, text: str) -> Line:
    """The agent thinks something."""
    return _item("completed", item_id, "reasoning", text=text)


def error_item(item_id: str, message: str) -> Line:
    """A warning of the CLI's own."""
    return _item("completed", item_id, "error", message=message)


def command_started(item_id: str, command: str) -> Line:
    """A command begins."""
    fields = {"command": command, "aggregated_output": "", "exit_code": None, "status": "in_progress"}
    return _item("started", item_id, "command_execution", **fields)


def command_completed(item_id: str, command: str, output: str = "", exit_code: int = 0) -> Line:
    """A command has ended; a status other than zero is a failure."""
    status = "completed" if exit_code == 0 else "failed"
    fields = {"command": command, "aggregated_output": output, "exit_code": exit_code, "status": status}
    return _item("completed", item_id, "command_execution", **fields)


def file_change(
    item_id: str,
    changes: Mapping[str, Literal["add", "delete", "update"]],
    status: Literal["in_progress", "completed", "failed"] = "completed",
) -> Line:
    """Files change, each path with what becomes of it; `in_progress` makes it the line that announces it."""
    listed = [{"path": path, "kind": kind} for path, kind in changes.items()]
    phase = "started" if status == "in_progress" else "completed"
    return _item(phase, item_id, "file_change", changes=listed, status=status)


def _item(phase: str, item_id: str, kind: str, **fields: Any) -> Line:
    return {"type": f"item.{phase}", "item": {"id": item_id, "type": kind, **fields}}
