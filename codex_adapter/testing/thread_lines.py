"""Build the lines that the Codex CLI prints: each function returns the JSON object of one line.

Names and forms are those of the newest release. The step `PrintJson(agent_message("item_0", "Hello."))` prints a line.
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
    """Return the first line of each run."""
    return {"type": "thread.started", "thread_id": thread_id}


def turn_started() -> Line:
    """Return the first line of a turn."""
    return {"type": "turn.started"}


def turn_completed(usage: Mapping[str, int] | None = None) -> Line:
    """Return the last line of a completed turn. `usage` replaces some of the counts."""
    counts = {
        "input_tokens": 100,
        "cached_input_tokens": 40,
        "cache_write_input_tokens": 0,
        "output_tokens": 20,
        "reasoning_output_tokens": 5,
    }
    return {"type": "turn.completed", "usage": {**counts, **(usage or {})}}


def turn_failed(message: str) -> Line:
    """Return the last line of a failed turn."""
    return {"type": "turn.failed", "error": {"message": message}}


def error(message: str) -> Line:
    """Return an error line. The CLI prints most of them as notices of a reconnect."""
    return {"type": "error", "message": message}


def agent_message(item_id: str, text: str) -> Line:
    """Return a message of the agent."""
    return _item("completed", item_id, "agent_message", text=text)


def reasoning(item_id: str, text: str) -> Line:
    """Return reasoning of the agent."""
    return _item("completed", item_id, "reasoning", text=text)


def error_item(item_id: str, message: str) -> Line:
    """Return a warning of the CLI."""
    return _item("completed", item_id, "error", message=message)


def command_started(item_id: str, command: str) -> Line:
    """Return the start of a command."""
    fields = {"command": command, "aggregated_output": "", "exit_code": None, "status": "in_progress"}
    return _item("started", item_id, "command_execution", **fields)


def command_completed(item_id: str, command: str, output: str = "", exit_code: int = 0) -> Line:
    """Return the end of a command. An exit code other than 0 is a failure."""
    status = "completed" if exit_code == 0 else "failed"
    fields = {"command": command, "aggregated_output": output, "exit_code": exit_code, "status": status}
    return _item("completed", item_id, "command_execution", **fields)


def file_change(
    item_id: str,
    changes: Mapping[str, Literal["add", "delete", "update"]],
    status: Literal["in_progress", "completed", "failed"] = "completed",
) -> Line:
    """Return a change of files, the kind of change by path. With `in_progress`, return the start of the change."""
    listed = [{"path": path, "kind": kind} for path, kind in changes.items()]
    phase = "started" if status == "in_progress" else "completed"
    return _item(phase, item_id, "file_change", changes=listed, status=status)


def _item(phase: str, item_id: str, kind: str, **fields: Any) -> Line:
    return {"type": f"item.{phase}", "item": {"id": item_id, "type": kind, **fields}}
