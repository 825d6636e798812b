"""Describe the lines of the Codex CLI to the suites of all agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from codex_adapter.agents.codex.stream.line_parser import parse_lines
from codex_adapter.core.framing import Line
from tests.agents.agent_lines import SESSION, AgentLines, Fact, Shape, as_line

__all__ = ["CODEX_LINES"]


def _item(phase: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{phase}", "thread_id": "t", "turn_id": "u", "item": {"id": "a", "type": kind, **fields}}


class CodexLines(AgentLines):
    """The lines of the Codex CLI."""

    kind: ClassVar[str] = "codex"
    turn: ClassVar[bytes] = b'{"type":"turn.started"}\n'
    failed: ClassVar[bytes] = b'{"type":"turn.failed","error":{"message":"no"}}\n'
    trouble: ClassVar[bytes] = b'{"type":"error","message":"Reconnecting... 2/5"}\n'
    trouble_shape: ClassVar[Shape] = ("error", "Reconnecting... 2/5")
    recording: ClassVar[str] = "0.169.0/shell_three.jsonl"
    older: ClassVar[Sequence[bytes]] = (
        b'{"type":"session.created","session_id":"s"}\n{"type":"item.created","item_type":"web_search","item_id":"a"}\n',
        b'{"type":"item.delta","item_type":"assistant_message","item_id":"a","delta":{"text_delta":"f"},"thread_id":"t"}\n',
        b'{"type":"item.completed","item_type":"agent_message","item_id":"a","content":{"text":"t"}}\n',
        b'{"type":"turn.started","turn_id":"turn_1","thread_id":"t"}\n'
        b'{"type":"item.started","turn_id":"turn_1","item":{"id":"call_0123","type":"web_search","query":"q"}}\n',
        b'{"type":"item.updated","thread_id":"t","item":{"id":"a","type":"todo_list","items":[{"text":"x"}]}}\n'
        b'{"type":"turn.completed","usage":{"input_tokens":1}}\n{"type":"turn.completed","usage":null}\n',
        b'{"type":"item.failed","item":{"id":"a","type":"reasoning"},"error":{"message":"m"}}\r\n{"type":"turn.started"',
    )
    samples: ClassVar[Sequence[dict[str, Any]]] = (
        {"type": "thread.started", "thread_id": "t"},
        {"type": "thread.resumed", "conversation_id": "t", "session_id": "t", "id": "t"},
        {"type": "turn.started", "thread_id": "t", "turn_id": "u"},
        {"type": "turn.completed", "turn_id": "u", "usage": {"input_tokens": 3}},
        {"type": "turn.failed", "error": {"message": "m"}},
        {"type": "error", "message": "m"},
        _item("completed", "agent_message", text="t"),
        _item("updated", "agent_message", delta={"text": "t"}),
        _item("completed", "reasoning", text="t"),
        _item("completed", "command_execution", command="c", aggregated_output="o", exit_code=1, status="failed"),
        _item("completed", "file_change", changes=[{"path": "/p", "kind": "add", "diff": "d"}], status="completed"),
        _item("completed", "mcp_tool_call", server="s", tool="t", arguments={}, result={}, error={"message": "m"}),
        _item(
            "completed",
            "collab_tool_call",
            tool="wait",
            sender_thread_id="s",
            receiver_thread_ids=["r"],
            prompt="p",
            agents_states={"r": {"status": "completed", "message": "m"}},
        ),
        _item("completed", "web_search", query="q", action={"type": "search", "query": "q"}),
        _item("updated", "todo_list", items=[{"text": "t", "completed": True}]),
        _item("completed", "error", message="m"),
        {**_item("failed", "command_execution", command="c"), "error": {"message": "m"}},
        {"type": "item.created", "item_type": "assistant_message", "item_id": "a", "content": {"text": "t"}},
        {"type": "item.delta", "item_type": "agent_message", "item_id": "a", "text_delta": "t"},
    )
    names: ClassVar[Sequence[str]] = (
        *("type", "thread_id", "turn_id", "conversation_id", "session_id", "item", "usage", "error", "message", "id"),
        *("item_id", "item_type", "text", "text_delta", "content", "delta", "$delta", "command", "aggregated_output"),
        *("exit_code", "status", "stdout", "stderr", "changes", "path", "kind", "diff", "server", "server_name"),
        *("tool", "tool_name", "arguments", "result", "receiver_thread_ids", "sender_thread_id", "prompt"),
        *("agents_states", "query", "action", "items", "completed", "agent_message", "assistant_message", "reasoning"),
        *("command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search", "todo_list"),
        *("in_progress", "failed", "declined"),
    )
    types: ClassVar[Sequence[str]] = (
        *("thread.started", "thread.resumed", "session.created", "turn.started", "turn.completed", "turn.failed"),
        *("error", "item.started", "item.completed", "item.updated", "item.failed", "item.created", "item.delta"),
    )
    fields: ClassVar[frozenset[str]] = frozenset(
        {
            *("type", "thread_id", "turn_id", "conversation_id", "item", "usage", "error", "message", "id", "text"),
            *("command", "aggregated_output", "exit_code", "status", "stdout", "stderr", "changes", "path", "kind"),
            *("diff", "server", "tool", "arguments", "result", "sender_thread_id", "receiver_thread_ids", "prompt"),
            *("agents_states", "query", "action", "items", "completed", "delta"),
        }
    )
    known: ClassVar[Sequence[dict[str, Any]]] = (
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.completed", "usage": {"input_tokens": 1}},
        {"type": "error", "message": "m"},
        {"type": "item.completed", "item": {"id": "a", "type": "agent_message", "text": "t"}},
    )

    @override
    def session(self, session_id: str = SESSION) -> bytes:
        """Implement `AgentLines.session`."""
        return as_line({"type": "thread.started", "thread_id": session_id})

    @override
    def completed(self, input_tokens: int = 3) -> bytes:
        """Implement `AgentLines.completed`."""
        return as_line({"type": "turn.completed", "usage": {"input_tokens": input_tokens}})

    @override
    def message(self, text: str, number: int = 0) -> bytes:
        """Implement `AgentLines.message`."""
        item = {"id": f"item_{number}", "type": "agent_message", "text": text}
        return as_line({"type": "item.completed", "item": item})

    @override
    def tool(self, phase: str, number: int = 1) -> bytes:
        """Implement `AgentLines.tool`."""
        item = {"id": f"item_{number}", "type": "command_execution", "command": "make", "status": "in_progress"}
        return as_line({"type": f"item.{phase}", "item": item})

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
            {"type": "thread.started", "thread_id": grown},
            {"type": "item.completed", "item": {"id": grown, "type": "agent_message", "text": "t"}},
            {"type": "item.completed", "item": {"id": "a", "type": "reasoning", "text": grown + secret}},
            {"type": "item.completed", "item": {"id": "a", "type": "mcp_tool_call", "arguments": {grown: 1}}},
            {"type": "item.started", "item": {"id": "a", "type": "command_execution", "command": grown}},
            {"type": "error", "message": grown},
        )

    @override
    def huge(self) -> Sequence[dict[str, Any]]:
        """Implement `AgentLines.huge`."""
        return (
            {"type": "turn.completed", "usage": {f"n{number}": number for number in range(100_000)}},
            {"type": "turn.completed", "usage": {"input_tokens": 2**62, "output_tokens": -(2**62), "x": 2**64}},
            _item("completed", "file_change", changes=[{"path": "/p", "kind": "add"}] * 50_000),
            {"type": "item.completed", "item": {"id": "i" * 1_000_000, "type": "agent_message", "text": "t"}},
            {"type": "t" * 1_000_000},
            _item("completed", "todo_list", items=[{"text": "t", "completed": True}] * 50_000),
            {"type": "error", "message": "m" * 1_000_000},
        )


def _fact(line: dict[str, Any]) -> Fact:
    item = line.get("item", {})
    match line["type"]:
        case "thread.started":
            return "session", line["thread_id"]
        case "turn.started":
            return "turn", None
        case "turn.completed":
            return "completed", line["usage"]
        case "turn.failed":
            return "failed", None
        case "error":
            return "trouble", None
        case _ if item["type"] == "agent_message":
            return "message", item["text"]
        case "item.started":
            return "opened", item["id"]
    return "closed", item["id"]


CODEX_LINES = CodexLines()
