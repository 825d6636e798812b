"""Describe the lines of pi to the suites of all agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from codex_adapter.agents.pi.stream.line_parser import parse_lines
from codex_adapter.core.framing import Line
from tests.agents.agent_lines import SESSION, AgentLines, Fact, Shape, as_line

__all__ = ["PI_LINES"]

_SETTLED = as_line({"type": "agent_settled"})
_TROUBLE = "500 the service failed"


def _answer(*content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": list(content), "api": "a", "stopReason": "stop", **fields}
    return {"type": "message_end", "message": message}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _part(type_: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message_update", "assistantMessageEvent": {"type": type_, "contentIndex": 0, **fields}}


def _tool(phase: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"tool_execution_{phase}", "toolCallId": "a", "toolName": "bash", **fields}


def _result(*texts: str, **fields: Any) -> dict[str, Any]:
    return {"content": [_text(text) for text in texts], **fields}


class PiLines(AgentLines):
    """The lines of pi. Its last answer decides on a turn, and another line ends it."""

    kind: ClassVar[str] = "pi"
    turn: ClassVar[bytes] = as_line({"type": "agent_start"})
    trouble: ClassVar[bytes] = as_line(_answer(stopReason="error", errorMessage=_TROUBLE))
    failed: ClassVar[bytes] = trouble + _SETTLED
    trouble_shape: ClassVar[Shape] = ("error", _TROUBLE)
    recording: ClassVar[str] = "0.78.1/commands.jsonl"
    beginning: ClassVar[int] = 4_096
    older: ClassVar[Sequence[bytes]] = (
        # In 0.87, the prompt of the system fills the beginning of each recording.
        b"".join(
            as_line(line)
            for line in (
                {"type": "session", "version": 3, "id": "s", "cwd": "/work"},
                {"type": "agent_start"},
                {"type": "message_start", "message": {"role": "assistant", "content": [], "model": "m"}},
                {**_part("text_delta", delta="one"), "usage": {"input": 1}},
                _part("text_end", content="one two"),
                _tool("start", args={"command": "ls"}),
                _tool("end", result=_result("x\n\nCommand exited with code 3", details={}), isError=True),
                _answer(_text("one two"), usage={"input": 3, "cost": {"total": 0.5}}),
                {"type": "turn_end", "message": {"role": "assistant"}, "toolResults": []},
                {"type": "agent_end", "messages": [], "willRetry": False},
                {"type": "agent_settled"},
            )
        ),
        as_line({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2, "errorMessage": "429 m"})
        + as_line({"type": "auto_retry_end", "success": False, "attempt": 1, "finalError": "429 m"}),
    )
    samples: ClassVar[Sequence[dict[str, Any]]] = (
        {"type": "session", "version": 3, "id": "t", "cwd": "/work", "timestamp": "x"},
        {"type": "agent_start"},
        {"type": "turn_start"},
        {"type": "message_start", "message": {"role": "assistant", "content": [], "api": "a", "model": "m"}},
        {"type": "message_start", "message": {"role": "user", "content": [_text("t")]}},
        _part("text_start", partial={"role": "assistant", "content": []}),
        {**_part("text_delta", delta="t"), "message": {"role": "assistant"}, "usage": {"input": 1}},
        _part("text_end", content="t"),
        _part("thinking_delta", delta="t"),
        _part("thinking_end", content="t"),
        _part("toolcall_end", toolCall={"type": "toolCall", "id": "a", "name": "bash", "arguments": {"command": "c"}}),
        _answer(_text("t"), usage={"input": 3, "totalTokens": 3, "cost": {"total": 0.5}}, errorMessage="e"),
        _answer({"type": "thinking", "thinking": "t"}, stopReason="length"),
        _answer(stopReason="error", errorMessage='401 {"error":{"type":"authentication_error","message":"m"}}'),
        {"type": "message_end", "message": {"role": "toolResult", "toolCallId": "a", "content": [_text("t")]}},
        _tool("start", args={"command": "c"}),
        {**_tool("start", args={"path": "p", "content": "c"}), "toolName": "write"},
        {**_tool("start", args={"x": 1}), "toolName": "other"},
        _tool("update", args={"command": "c"}, partialResult=_result("o")),
        _tool("end", result=_result("o\n\nCommand exited with code 3", details={}), isError=True),
        {**_tool("end", result=_result("o", details={"diff": "d"}), isError=False), "toolName": "edit"},
        {"type": "turn_end", "message": {"role": "assistant"}, "toolResults": []},
        {"type": "agent_end", "messages": [{"role": "user"}], "willRetry": True},
        {"type": "agent_settled"},
        {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "429 m"},
        {"type": "auto_retry_end", "success": False, "attempt": 1, "finalError": "429 m"},
        {"type": "compaction_start", "reason": "threshold"},
        {"type": "compaction_end", "reason": "threshold", "result": {"usage": {"input": 1}}, "aborted": False},
        {"type": "extension_error", "extensionPath": "p", "event": "e", "error": "m"},
        {"type": "queue_update", "steering": [], "followUp": []},
        {"type": "response", "command": "c", "success": True, "id": "r", "data": {}},
    )
    names: ClassVar[Sequence[str]] = (
        *("type", "id", "message", "role", "content", "model", "api", "stopReason", "errorMessage", "usage", "cost"),
        *("total", "input", "output", "cacheRead", "totalTokens", "assistantMessageEvent", "contentIndex", "delta"),
        *("partial", "text", "thinking", "toolCall", "toolCallId", "toolName", "args", "command", "path", "result"),
        *("details", "diff", "isError", "partialResult", "messages", "willRetry", "toolResults", "attempt"),
        *("maxAttempts", "delayMs", "finalError", "reason", "error", "code", "cwd", "version", "timestamp"),
        *("assistant", "user", "toolResult", "stop", "length", "aborted", "toolUse", "bash", "edit", "read"),
        *("text_delta", "text_end", "thinking_delta", "thinking_end", "toolcall_end"),
    )
    types: ClassVar[Sequence[str]] = (
        *("session", "agent_start", "turn_start", "message_start", "message_update", "message_end", "turn_end"),
        *("tool_execution_start", "tool_execution_update", "tool_execution_end", "agent_end", "agent_settled"),
        *("auto_retry_start", "auto_retry_end", "compaction_start", "compaction_end", "extension_error", "response"),
    )
    fields: ClassVar[frozenset[str]] = frozenset(
        {"type", "id", "message", "role", "content", "delta", "usage", "result"}
    )
    known: ClassVar[Sequence[dict[str, Any]]] = (
        {"type": "session", "id": "t"},
        _answer(_text("t")),
        _part("text_delta", delta="t"),
        _tool("start"),
        {"type": "agent_settled"},
    )

    @override
    def session(self, session_id: str = SESSION) -> bytes:
        """Implement `AgentLines.session`."""
        return as_line({"type": "session", "version": 3, "id": session_id, "cwd": "/work"})

    @override
    def completed(self, input_tokens: int = 3) -> bytes:
        """Implement `AgentLines.completed`."""
        return as_line(_answer(usage={"input": input_tokens})) + _SETTLED

    @override
    def message(self, text: str, number: int = 0) -> bytes:
        """Implement `AgentLines.message`."""
        begun = {"type": "message_start", "message": {"role": "assistant", "content": []}}
        return as_line(begun) + as_line(_answer(_text(text)))

    @override
    def tool(self, phase: str, number: int = 1) -> bytes:
        """Implement `AgentLines.tool`."""
        if phase == "started":
            line = _tool("start", args={"command": "make"})
        else:
            line = _tool("end", result=_result("out"), isError=False)
        return as_line({**line, "toolCallId": f"call_{number}"})

    @override
    def parse(self, data: Iterable[Line]) -> Sequence[object]:
        """Implement `AgentLines.parse`."""
        return parse_lines(data)

    @override
    def reader(self) -> Callable[[dict[str, Any]], Sequence[Fact]]:
        """Implement `AgentLines.reader`."""
        return _Reader().facts

    @override
    def seeds(self, grown: str, secret: str) -> Sequence[dict[str, Any]]:
        """Implement `AgentLines.seeds`."""
        return (
            {"type": "session", "id": grown},
            {"type": "message_start", "message": {"role": "assistant", "content": [], "model": grown}},
            _part("thinking_end", content=grown + secret),
            _answer(_text(grown)),
            _answer(stopReason="error", errorMessage=grown),
            {**_tool("start", args={grown: 1}), "toolCallId": grown, "toolName": grown},
            _tool("start", args={"command": grown}),
            _tool("end", result=_result(grown), isError=True),
        )

    @override
    def huge(self) -> Sequence[dict[str, Any]]:
        """Implement `AgentLines.huge`."""
        long = "m" * 1_000_000
        changes = [{"oldText": "1", "newText": "2"}] * 50_000
        return (
            _answer(_text("t"), usage={f"n{number}": number for number in range(100_000)}),
            _answer(_text("t"), usage={"input": 2**62, "output": -(2**62), "x": 2**64}),
            {**_tool("start", args={"path": "p", "edits": changes}), "toolName": "edit"},
            {**_tool("start", args={}), "toolCallId": long, "toolName": long},
            {"type": "message_start", "message": {"role": "assistant", "content": [], "model": long}},
            {"type": long},
            _answer(stopReason="error", errorMessage=long),
            {"type": "auto_retry_start", "attempt": 2**62, "errorMessage": long},
        )


class _Reader:
    """A reader of the lines of one stream, which knows the last answer and the sum of the usage."""

    def __init__(self) -> None:
        self._end: str | None = None
        self._usage: dict[str, int] = {}

    def facts(self, line: dict[str, Any]) -> Sequence[Fact]:
        """Return what the events of a line mean."""
        match line:
            case {"type": "session", "id": session_id}:
                return (("session", session_id),)
            case {"type": "agent_start"}:
                self._end = None
                return (("turn", None),)
            case {"type": "agent_settled"}:
                return ((self._end, dict(self._usage) or None),) if self._end else (("notice", None),)
            case {"type": "message_end", "message": {"stopReason": "error"}}:
                self._end = "failed"
                return (("trouble", None),)
            case {"type": "message_end", "message": message}:
                self._end = "completed"
                for name, count in message.get("usage", {}).items():
                    self._usage[name] = self._usage.get(name, 0) + count
                return [("message", block["text"]) for block in message["content"]]
            case {"type": "tool_execution_start", "toolCallId": name}:
                return (("opened", name),)
            case {"type": "tool_execution_end", "toolCallId": name}:
                return (("closed", name),)
        return ()


PI_LINES = PiLines()
