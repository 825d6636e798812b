"""Translate tool calls and their results into the facet of tools (M3, AG6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from codex_adapter.agents.pi.stream.lines import Block, Details, ToolEnd, ToolResult, ToolStart
from codex_adapter.core.payloads import json_text
from codex_adapter.events import Tool, ToolBytes

__all__ = ["call_payloads", "join_texts", "read_result", "result_payloads", "tool_call", "tool_result"]

_KINDS: Final[Mapping[str, str]] = {
    "bash": "command_execution",
    "powershell": "command_execution",
    "write": "file_change",
    "edit": "file_change",
    "read": "file_read",
    "grep": "search",
    "find": "search",
    "ls": "search",
}
_EXIT_CODE: Final = re.compile(r"Command exited with code (\d{1,3})\Z")
_NO_BYTES: Final = ToolBytes()
_NO_RESULT: Final = ToolResult()


class _Command(msgspec.Struct, gc=False):
    command: str


_decode_command: Callable[[msgspec.Raw], _Command] = msgspec.json.Decoder(_Command).decode
_decode_result: Callable[[msgspec.Raw], ToolResult] = msgspec.json.Decoder(ToolResult).decode
_decode_details: Callable[[msgspec.Raw], Details] = msgspec.json.Decoder(Details).decode


def tool_call(line: ToolStart, session_id: str | None) -> Tool:
    """Return the tool of a line that starts one."""
    kind = _KINDS.get(line.tool_name, "other")
    id_ = line.tool_call_id
    return Tool(id_, session_id, None, kind, "start", "running", None, _NO_BYTES, line.tool_name, id_)


def tool_result(line: ToolEnd, result: ToolResult, session_id: str | None) -> Tool:
    """Return the tool of a line that ends one."""
    kind = _KINDS.get(line.tool_name, "other")
    text = join_texts(result.content)
    code: int | None = None
    size = ToolBytes(result=_utf8(text))
    if kind == "command_execution":
        # The CLI prints only the exit codes of failures.
        found = _EXIT_CODE.search(text) if line.is_error else None
        code = int(found[1]) if found is not None else None if line.is_error else 0
        size = ToolBytes(_utf8(text))
    elif kind == "file_change":
        size = ToolBytes(0, 0, _utf8(_diff(result.details)), _utf8(text))
    id_ = line.tool_call_id
    if line.is_error:
        return Tool(id_, session_id, None, kind, "fail", "failed", code, size, line.tool_name, id_)
    return Tool(id_, session_id, None, kind, "complete", "completed", code, size, line.tool_name, id_)


def read_result(line: ToolEnd) -> ToolResult:
    """Return the result of a tool, an empty one if it has another shape."""
    return _decoded(_decode_result, line.result) or _NO_RESULT


def call_payloads(line: ToolStart) -> dict[str, str | None]:
    """Return the texts of a call's input, by the names of fields of `ToolInput` (M7)."""
    kind = _KINDS.get(line.tool_name, "other")
    if kind == "command_execution":
        command = _decoded(_decode_command, line.args)
        return {"arguments": json_text(line.args)} if command is None else {"command": command.command}
    if kind == "file_change":
        return {"changes": json_text(line.args)}
    if kind == "search":
        return {"query": json_text(line.args)}
    return {"tool": line.tool_name, "arguments": json_text(line.args)}


def result_payloads(line: ToolEnd, result: ToolResult) -> dict[str, str | None]:
    """Return the texts of a result, by the names of fields of `ToolOutput` (M7)."""
    text = join_texts(result.content) or None
    if _KINDS.get(line.tool_name) == "command_execution":
        return {"aggregated_output": text}
    return {"error" if line.is_error else "result": text}


def join_texts(blocks: list[Block]) -> str:
    """Return the texts of blocks, with a newline between them."""
    return "\n".join([block.text for block in blocks if block.type == "text"])


def _diff(raw: msgspec.Raw) -> str:
    details = _decoded(_decode_details, raw)
    return "" if details is None else details.diff or ""


def _decoded(decode: Callable[[msgspec.Raw], Any], raw: msgspec.Raw) -> Any:
    try:
        return decode(raw)
    except Exception:  # noqa: BLE001 - the model and the tools of extensions may write anything
        return None


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
