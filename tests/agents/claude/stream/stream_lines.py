"""Build lines of Claude Code, and decode them."""

from __future__ import annotations

import json
from typing import Any

from codex_adapter import Completion, Event, Pipeline
from codex_adapter.agents.claude.stream.decoder import ClaudeDecoder
from codex_adapter.events import ExitStatus, Tool, ToolCall

GOOD = ExitStatus(code=0)
INIT = {"type": "system", "subtype": "init", "session_id": "s-1"}
DONE = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": "s-1"}


def run(*lines: Any, full: bool = False, secrets: tuple[str, ...] = ()) -> tuple[list[Event], Completion]:
    """Return the events and the completion of these lines."""
    pipeline = Pipeline(lambda masker: ClaudeDecoder(masker, full_payloads=full), secrets=secrets)
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return [*pipeline.receive_data(data), *pipeline.receive_eof()], pipeline.completion(GOOD)


def system(subtype: str, **more: Any) -> dict[str, Any]:
    """Return a notice of the CLI."""
    return {"type": "system", "subtype": subtype, **more}


def use(name: str, use_id: str = "t", thread: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Return a call of a tool, by a sub-agent if `thread` is the call that started it."""
    block = {"type": "tool_use", "id": use_id, "name": name, "input": arguments}
    return {"type": "assistant", "message": {"id": "m", "content": [block]}, "parent_tool_use_id": thread}


def answered(use_id: str, content: Any = "", thread: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the result of a call. `known` is what the CLI knows of it."""
    known = more.pop("known", None)
    block = {"type": "tool_result", "tool_use_id": use_id, "content": content, **more}
    return {
        "type": "user",
        "message": {"content": [block]},
        "tool_use_result": known,
        "parent_tool_use_id": thread,
    }


def tools(events: list[Event]) -> list[Tool]:
    """Return the tools of the events that have one."""
    return [event.data.tool for event in events if isinstance(event.data, ToolCall)]
