"""Define the facet of a tool call and its result (M3, M7, AG6)."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

__all__ = [
    "TOOL_KINDS",
    "PayloadText",
    "Tool",
    "ToolBytes",
    "ToolCall",
    "ToolInput",
    "ToolOutput",
    "ToolPhase",
    "ToolStatus",
]

ToolPhase = Literal["start", "delta", "complete", "fail"]
ToolStatus = Literal["pending", "running", "completed", "failed", "unknown"]
TOOL_KINDS: Final = (
    *("command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call"),
    *("file_read", "search", "web_fetch", "other"),
)
"""The kinds of tool calls, named by what they do, not by an agent's name for the tool (AG6)."""

# A struct with `omit_defaults` always writes a field whose default comes from a function.
_NULL: Final = msgspec.field(default_factory=lambda: None)


class ToolBytes(msgspec.Struct, frozen=True, gc=False):
    """Sizes of a tool's output, in bytes of UTF-8 (M3)."""

    stdout: int = 0
    """Bytes of standard output."""
    stderr: int = 0
    """Bytes of standard error."""
    diff: int = 0
    """Bytes of the changes to files."""
    result: int = 0
    """Bytes of any other result."""


class PayloadText(msgspec.Struct, frozen=True, gc=False):
    """A masked text of at most 16 KiB. `truncated` is True if the original was longer (M7)."""

    text: str
    """The text, masked and bounded."""
    truncated: bool
    """Whether the text is longer than its limit."""


class ToolInput(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The input of a tool call, in the field that fits its kind (M7)."""

    command: PayloadText | None = None
    """The command."""
    changes: PayloadText | None = None
    """The changes to files, as JSON."""
    server: PayloadText | None = None
    """The MCP server."""
    tool: PayloadText | None = None
    """The tool of the MCP server."""
    arguments: PayloadText | None = None
    """The arguments of the call, as JSON."""
    query: PayloadText | None = None
    """The query of a search."""


class ToolOutput(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The output of a tool call (M7)."""

    aggregated_output: PayloadText | None = None
    """The output of a command."""
    result: PayloadText | None = None
    """The result of any other tool."""
    error: PayloadText | None = None
    """The message of a failed call."""


class Tool(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The current state of one tool call. `kind` is one of `TOOL_KINDS`, `status` the item's own.

    `parent_id` is the id of the tool call that started the sub-agent, or None for the agent itself (M3, M11, AG6).
    """

    backend_item_id: str | None
    """The agent's id of the call. The call and its result have the same id."""
    thread_id: str | None
    """The id of the session."""
    turn_id: str | None
    """The id of the turn."""
    kind: str
    """What the tool does, by the same words for all agents."""
    phase: ToolPhase
    """Whether the call starts, continues or ends."""
    status: ToolStatus
    """The state of the call."""
    exit_code: int | None
    """The exit status of a command, if it is known."""
    bytes: ToolBytes
    """The sizes of the output."""
    tool_name: str | None
    """The agent's name of the tool."""
    tool_use_id: str | None = _NULL
    """The id that the model gave the call, if the agent reports it."""
    parent_id: str | None = None
    """The id of the tool call that started the sub-agent. Without it, the event is the agent's own."""


class ToolCall(
    msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="agent_api.tools.structured.v1", omit_defaults=True
):
    """The facet of every tool_call and tool_result. `input` and `output` are optional payloads (M3, M7)."""

    tool: Tool
    """The state of the call."""
    input: ToolInput | None = None
    """The input, with full payloads only."""
    output: ToolOutput | None = None
    """The output, with full payloads only."""

    @property
    def has_input(self) -> bool:
        """Whether any field of the input is set. Some agents print the input only at the start of a call."""
        return self.input is not None and self.input != ToolInput()
