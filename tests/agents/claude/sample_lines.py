"""Describe the lines of Claude Code to the suites of all agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from codex_adapter.agents.claude.stream import lines
from codex_adapter.agents.claude.stream.line_parser import parse_lines
from codex_adapter.core.framing import Line
from tests.agents.agent_lines import SESSION, AgentLines, Fact, Shape, as_line

__all__ = ["CLAUDE_LINES"]

_MODEL = "claude-opus-5-5"


def _assistant(*content: dict[str, Any], number: int = 0, **fields: Any) -> dict[str, Any]:
    message = {"id": f"msg_{number}", "model": _MODEL, "content": list(content)}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, **fields}


def _result_of(tool_use_id: str, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": "out", "is_error": False}
    return {"type": "user", "message": {"role": "user", "content": [block]}, **fields}


def _part(type_: str, **fields: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": {"type": type_, **fields}, "session_id": "s"}


def _system(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, **fields}


class ClaudeLines(AgentLines):
    """The lines of Claude Code."""

    kind: ClassVar[str] = "claude_code"
    turn: ClassVar[bytes] = as_line(_system("init"))
    failed: ClassVar[bytes] = as_line(
        {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": ["no"]}
    )
    trouble: ClassVar[bytes] = as_line(_system("api_retry", attempt=1, error="overloaded", error_status=529))
    session_shape: ClassVar[Shape] = ("status", "compaction completed")
    trouble_shape: ClassVar[Shape] = ("status", "model request failed, trying again")
    recording: ClassVar[str] = "2.1.330/commands.jsonl"
    beginning: ClassVar[int] = 6_000
    samples: ClassVar[Sequence[dict[str, Any]]] = (
        _system("init", session_id="s", model=_MODEL, tools=["Bash"], claude_code_version="2.1.330"),
        _system("api_retry", attempt=1, max_retries=2, retry_delay_ms=3, error_status=500, error="server_error"),
        _system("informational", level="warning", content="c", text="t"),
        _system("status", status="compacting", session_id="s"),
        _assistant({"type": "text", "text": "t"}, session_id="s", error="e", parent_tool_use_id="p"),
        _assistant({"type": "thinking", "thinking": "t", "signature": "x"}),
        _assistant({"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "c"}}),
        _assistant({"type": "tool_use", "id": "a", "name": "TodoWrite", "input": {"todos": [{"content": "c"}]}}),
        _assistant({"type": "web_search_tool_result", "tool_use_id": "a", "content": []}),
        _result_of("a", tool_use_result={"stdout": "o", "stderr": "e", "interrupted": False}),
        {"type": "user", "message": {"role": "user", "content": "t"}, "isSynthetic": True},
        _part("message_start", message={"id": "m", "model": _MODEL}),
        _part("content_block_delta", index=0, delta={"type": "text_delta", "text": "t"}),
        _part("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "t"}),
        {
            **{"type": "result", "subtype": "success", "is_error": False, "result": "t", "session_id": "s"},
            **{"usage": {"input_tokens": 3}, "errors": ["e"], "api_error_status": 500, "terminal_reason": "completed"},
        },
        {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}, "session_id": "s"},
        {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": "Bash"}},
        {"type": "tool_progress", "tool_use_id": "a", "elapsed_time_seconds": 1},
    )
    names: ClassVar[Sequence[str]] = (
        *("type", "subtype", "message", "content", "session_id", "parent_tool_use_id", "id", "model", "text"),
        *("thinking", "name", "input", "tool_use_id", "is_error", "tool_use_result", "stdout", "stderr", "event"),
        *("index", "delta", "error", "error_status", "level", "result", "errors", "usage", "input_tokens", "status"),
        *("terminal_reason", "rate_limit_info", "request_id", "request", "tool_name", "todos", "command", "file_path"),
        *("tool_use", "tool_result", "text_delta", "success", "init", "content_block_delta", "Bash", "Edit"),
    )
    types: ClassVar[Sequence[str]] = (
        *("system", "assistant", "user", "stream_event", "result", "rate_limit_event", "control_request"),
        *("tool_progress", "control_response", "command_lifecycle"),
    )
    fields: ClassVar[frozenset[str]] = frozenset({"type"}).union(
        *(getattr(struct, "__struct_fields__", ()) for struct in vars(lines).values() if isinstance(struct, type))
    )
    known: ClassVar[Sequence[dict[str, Any]]] = (
        _system("init", session_id="s"),
        _assistant({"type": "text", "text": "t"}),
        _result_of("a"),
        {"type": "result", "subtype": "success", "result": "t"},
    )

    @override
    def session(self, session_id: str = SESSION) -> bytes:
        """Implement `AgentLines.session`."""
        return as_line(_system("compact_boundary", session_id=session_id))

    @override
    def completed(self, input_tokens: int = 3) -> bytes:
        """Implement `AgentLines.completed`."""
        usage = {"input_tokens": input_tokens}
        return as_line({"type": "result", "subtype": "success", "is_error": False, "usage": usage})

    @override
    def message(self, text: str, number: int = 0) -> bytes:
        """Implement `AgentLines.message`."""
        return as_line(_assistant({"type": "text", "text": text}, number=number))

    @override
    def tool(self, phase: str, number: int = 1) -> bytes:
        """Implement `AgentLines.tool`."""
        name = f"toolu_{number}"
        if phase == "started":
            return as_line(_assistant({"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "make"}}))
        return as_line(_result_of(name))

    @override
    def parse(self, data: Iterable[Line]) -> Sequence[object]:
        """Implement `AgentLines.parse`."""
        return parse_lines(data)

    @override
    def reader(self) -> Callable[[dict[str, Any]], Sequence[Fact]]:
        """Implement `AgentLines.reader`."""
        return lambda line: (_fact(line),)

    @override
    def seeds(self, grown: str, secret: str) -> Sequence[dict[str, Any]]:
        """Implement `AgentLines.seeds`."""
        return (
            _system("init", session_id=grown),
            _assistant({"type": "text", "text": "t"}, session_id=grown),
            _assistant({"type": "thinking", "thinking": grown + secret}),
            _assistant({"type": "tool_use", "id": grown, "name": grown, "input": {grown: 1}}),
            _assistant({"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": grown}}),
            _result_of(grown, tool_use_result={"stdout": grown}),
            {"type": "result", "subtype": "success", "is_error": True, "result": grown, "errors": [grown]},
        )

    @override
    def huge(self) -> Sequence[dict[str, Any]]:
        """Implement `AgentLines.huge`."""
        long = "m" * 1_000_000
        todos = [{"content": "t", "status": "completed"}] * 50_000
        return (
            {"type": "result", "subtype": "success", "usage": {f"n{number}": number for number in range(100_000)}},
            {"type": "result", "subtype": "success", "usage": {"input_tokens": 2**62, "x": -(2**62), "y": 2**64}},
            _assistant({"type": "tool_use", "id": "a", "name": "TodoWrite", "input": {"todos": todos}}),
            _assistant({"type": "tool_use", "id": long, "name": long, "input": {}}),
            _assistant({"type": long}),
            {"type": long, "subtype": long},
            _system(long),
            _system("informational", level="warning", content=long),
            {"type": "result", "subtype": long, "is_error": True, "result": long},
        )


def _fact(line: dict[str, Any]) -> Fact:
    match line:
        case {"type": "system", "subtype": "init"}:
            return "turn", None
        case {"type": "system", "subtype": "api_retry"}:
            return "trouble", None
        case {"type": "system", "session_id": session_id}:
            return "session", session_id
        case {"type": "result", "is_error": True}:
            return "failed", None
        case {"type": "result", "usage": usage}:
            return "completed", usage
        case {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}:
            return "message", text
        case {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": name}]}}:
            return "opened", name
    return "closed", line["message"]["content"][0]["tool_use_id"]


CLAUDE_LINES = ClaudeLines()
