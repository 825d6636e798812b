"""Translate tool calls and their results into the facet of tools (M3, AG6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from codex_adapter.agents.claude.stream.lines import Block, ToolUseResult
from codex_adapter.core.payloads import json_text
from codex_adapter.core.sandbox_watch import bubblewrap_failed
from codex_adapter.events import Tool, ToolBytes, ToolPhase, ToolStatus

__all__ = ["call_payloads", "command_of", "content_text", "result_payloads", "tool_call", "tool_result", "was_started"]

_KINDS: Final[Mapping[str, str]] = {
    "Bash": "command_execution",
    "PowerShell": "command_execution",
    "Monitor": "command_execution",
    "Write": "file_change",
    "Edit": "file_change",
    "MultiEdit": "file_change",
    "NotebookEdit": "file_change",
    "Read": "file_read",
    "NotebookRead": "file_read",
    "Glob": "search",
    "Grep": "search",
    "LS": "search",
    "WebSearch": "web_search",
    "web_search": "web_search",
    "WebFetch": "web_fetch",
    "web_fetch": "web_fetch",
    "Agent": "collab_tool_call",
    "Task": "collab_tool_call",
}
_MCP: Final = re.compile(r"mcp__(.+?)__(.+)\Z", re.DOTALL)
_EXIT_CODE: Final = re.compile(r"Exit code (\d{1,3})\b")
_NO_BYTES: Final = ToolBytes()


class _Command(msgspec.Struct, gc=False):
    command: str


class _TextBlock(msgspec.Struct, gc=False):
    type: str | None = None
    text: str = ""


_decode_command: Callable[[msgspec.Raw], _Command] = msgspec.json.Decoder(_Command).decode
_decode_content: Callable[[msgspec.Raw], str | list[_TextBlock]] = msgspec.json.Decoder(str | list[_TextBlock]).decode
_decode_result: Callable[[msgspec.Raw], ToolUseResult | str] = msgspec.json.Decoder(ToolUseResult | str).decode


def tool_call(block: Block, session_id: str | None, parent_id: str | None) -> Tool:
    """Return the tool of a block that calls one. `parent_id` is the call that started the sub-agent (M11)."""
    name = block.name or ""
    kind = _KINDS.get(name)
    if kind is None:
        kind = "other"
        if name.startswith("mcp__") and (parts := _MCP.match(name)):
            kind, name = "mcp_tool_call", f"{parts[1]}/{parts[2]}"
        elif block.type == "mcp_tool_use":
            kind = "mcp_tool_call"
    return Tool(
        block.id, session_id, None, kind, "start", "running", None, _NO_BYTES, name or None, block.id, parent_id
    )


def tool_result(
    block: Block, opened: Tool | None, session_id: str | None, parent_id: str | None, raw: msgspec.Raw
) -> Tool:
    """Return the tool of a block that has its result; `opened` is the call, None where the line of it is missing.

    `raw` is what the CLI knows of the result besides the block's content. The status is `running` if the call continues
    in the background (M9).
    """
    text = content_text(block.content)
    failed = block.is_error is True
    found = _result(raw)
    kind = "other" if opened is None else opened.kind
    code: int | None = None
    size = ToolBytes(result=_utf8(text))
    if kind == "command_execution":
        code = 0
        if failed:
            exit_code = _EXIT_CODE.match(text)
            code = None if exit_code is None else int(exit_code[1])
        size = ToolBytes(_utf8(text))
        if isinstance(found, ToolUseResult) and found.stdout is not None:
            size = ToolBytes(_utf8(found.stdout), _utf8(found.stderr or ""))
    elif kind == "file_change" and isinstance(found, ToolUseResult):
        size = ToolBytes(0, 0, _json_bytes(found.structured_patch), _utf8(text))
    running = isinstance(found, ToolUseResult) and (found.background_task_id is not None or found.is_async is True)
    if running:
        code = None
    status: ToolStatus = "failed" if failed else "running" if running else "completed"
    name = None if opened is None else opened.tool_name
    phase: ToolPhase = "fail" if failed else "complete"
    use_id = block.tool_use_id
    return Tool(use_id, session_id, None, kind, phase, status, code, size, name, use_id, parent_id)


def command_of(block: Block) -> str:
    """Return the command of a block that calls one, empty if it has none."""
    try:
        return _decode_command(block.input).command
    except Exception:  # noqa: BLE001 - the model may write anything as input
        return ""


def was_started(command: str, block: Block, exit_code: int | None) -> bool | None:
    """Return True if the command of a result was started, False if the sandbox failed, None if unknown (F12).

    A command that names bubblewrap proves nothing: it may print the same message, or start its own sandbox.
    """
    if exit_code is None:
        return None
    if bubblewrap_failed(content_text(block.content).removeprefix(f"Exit code {exit_code}\n"), exit_code):
        return None if "bwrap" in command else False
    return True


def call_payloads(block: Block, kind: str) -> dict[str, str | None]:
    """Return the texts of a call's input, by the names of fields of `ToolInput` (M7)."""
    if kind == "command_execution":
        command = command_of(block)
        return {"command": command} if command else {"arguments": json_text(block.input)}
    if kind == "file_change":
        return {"changes": json_text(block.input)}
    if kind == "mcp_tool_call" and (parts := _MCP.match(block.name or "")):
        return {"server": parts[1], "tool": parts[2], "arguments": json_text(block.input)}
    if kind in ("search", "web_fetch", "web_search"):
        return {"query": json_text(block.input)}
    return {"tool": block.name, "arguments": json_text(block.input)}


def result_payloads(block: Block, kind: str) -> dict[str, str | None]:
    """Return the texts of a result, by the names of fields of `ToolOutput` (M7)."""
    text = content_text(block.content) or None
    if kind == "command_execution":
        return {"aggregated_output": text}
    return {"error" if block.is_error else "result": text}


def content_text(raw: msgspec.Raw) -> str:
    """Return the text of a result's content, the texts of its blocks with a newline between them."""
    try:
        content = _decode_content(raw)
    except Exception:  # noqa: BLE001 - content of another shape has no text that is known
        return ""
    return content if isinstance(content, str) else "\n".join([part.text for part in content if part.text])


def _result(raw: msgspec.Raw) -> ToolUseResult | str | None:
    try:
        return _decode_result(raw)
    except Exception:  # noqa: BLE001 - each tool has a shape of its own
        return None


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _json_bytes(raw: msgspec.Raw) -> int:
    length = len(memoryview(raw))
    return 0 if length == 4 and bytes(raw) == b"null" else length
