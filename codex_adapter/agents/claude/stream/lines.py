"""Define the lines of `claude -p --output-format stream-json`, with the fields that are used (T2).

Fields that are not listed are skipped without being decoded. A line of any other type is `Unknown` (T4).
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = [
    "NO_VALUE",
    "Assistant",
    "Block",
    "ControlRequest",
    "Line",
    "Notice",
    "PartialMessage",
    "RateLimit",
    "Result",
    "System",
    "Unknown",
    "User",
]

NO_VALUE = msgspec.Raw(b"null")


class Block(msgspec.Struct, gc=False):
    """A block of a message's content; which fields it has depends on its `type`."""

    type: str
    id: str | None = None
    name: str | None = None
    text: str = ""
    thinking: str = ""
    input: msgspec.Raw = NO_VALUE
    tool_use_id: str | None = None
    content: msgspec.Raw = NO_VALUE
    is_error: bool | None = None


class Message(msgspec.Struct, gc=False):
    """The message of the model or the user; the CLI's own messages have the model `<synthetic>`."""

    content: list[Block] | str
    id: str = ""
    model: str | None = None
    stop_reason: str | None = None
    usage: msgspec.Raw = NO_VALUE


class Assistant(msgspec.Struct, gc=False, tag="assistant"):
    """A block of the model's answer, or several; one message may take several lines."""

    message: Message
    session_id: str | None = None
    parent_tool_use_id: str | None = None
    error: str | None = None
    is_api_error_message: bool | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None


class ToolUseResult(msgspec.Struct, gc=False):
    """What the CLI knows of a tool's result besides its content."""

    stdout: str | None = None
    stderr: str | None = None
    structured_patch: msgspec.Raw = msgspec.field(default=NO_VALUE, name="structuredPatch")
    background_task_id: str | None = msgspec.field(default=None, name="backgroundTaskId")
    is_async: bool | None = msgspec.field(default=None, name="isAsync")


class User(msgspec.Struct, gc=False, tag="user"):
    """Results of tools, or text that the CLI itself adds for the model."""

    message: Message
    session_id: str | None = None
    parent_tool_use_id: str | None = None
    tool_use_result: msgspec.Raw = NO_VALUE


class Delta(msgspec.Struct, gc=False):
    """A fragment of a block."""

    type: str | None = None
    text: str = ""
    thinking: str = ""


class MessageStart(msgspec.Struct, gc=False):
    """The message that a `message_start` begins."""

    id: str = ""


class Part(msgspec.Struct, gc=False):
    """One event of the stream from the service."""

    type: str
    index: int = 0
    delta: Delta | None = None
    message: MessageStart | None = None
    usage: msgspec.Raw = NO_VALUE


class PartialMessage(msgspec.Struct, gc=False, tag="stream_event"):
    """A part of an answer, as it arrives; the whole block follows in an `assistant` line."""

    event: Part
    session_id: str | None = None
    parent_tool_use_id: str | None = None


class McpServer(msgspec.Struct, gc=False):
    """An MCP server in the first line of a turn; `status` is `connected` if its tools can be used."""

    name: str = ""
    status: str | None = None


class System(msgspec.Struct, gc=False, tag="system"):
    """A notice of the CLI; which fields it has depends on its `subtype`."""

    subtype: str = ""
    session_id: str | None = None
    error: str | None = None
    error_status: int | None = None
    content: str | None = None
    text: str | None = None
    level: str | None = None
    release: str | None = msgspec.field(default=None, name="claude_code_version")
    model: str | None = None
    fallback_model: str | None = None
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    tool_name: str | None = None
    tool_use_id: str | None = None
    status: str | None = None
    summary: str | None = None
    compact_result: str | None = None
    outcome: str | None = None
    mcp_servers: list[McpServer] = []


class Result(msgspec.Struct, gc=False, tag="result"):
    """The end of a turn. `subtype` is `success` also where the service failed: `is_error` is what counts."""

    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    structured_output: msgspec.Raw = NO_VALUE
    errors: list[str] = []
    session_id: str | None = None
    usage: dict[str, msgspec.Raw] | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    total_cost_usd: msgspec.Raw = NO_VALUE
    model_usage_since_last_result: msgspec.Raw = NO_VALUE


class RateLimitInfo(msgspec.Struct, gc=False):
    """A limit of the account: `status` is `allowed`, `allowed_warning` or `rejected`."""

    status: str | None = None
    window: str | None = msgspec.field(default=None, name="rateLimitType")
    resets_at: float | None = msgspec.field(default=None, name="resetsAt")
    utilization: float | None = None


class RateLimit(msgspec.Struct, gc=False, tag="rate_limit_event"):
    """A notice on the limits of the account."""

    rate_limit_info: RateLimitInfo
    session_id: str | None = None


class Question(msgspec.Struct, gc=False):
    """What the CLI asks its host: with `can_use_tool`, whether a tool may be used."""

    subtype: str
    tool_name: str | None = None
    requires_user_interaction: bool | None = None


class ControlRequest(msgspec.Struct, gc=False, tag="control_request"):
    """A question to the host, which answers on standard input."""

    request_id: str
    request: Question


class Unknown(msgspec.Struct, gc=False):
    """A line of a type that is not known; both names as the line has them, None where it has no text there (T4)."""

    type: str | None
    subtype: str | None


class _Quiet(msgspec.Struct, gc=False):
    session_id: str | None = None


class ToolProgress(_Quiet, gc=False, tag="tool_progress"):
    """A tool is still at work."""


class ControlResponse(_Quiet, gc=False, tag="control_response"):
    """An answer to a request of the host."""


class ControlCancel(_Quiet, gc=False, tag="control_cancel_request"):
    """A question that no longer needs an answer."""


class CommandLifecycle(_Quiet, gc=False, tag="command_lifecycle"):
    """A prompt was queued, started or ended."""


class ConversationReset(_Quiet, gc=False, tag="conversation_reset"):
    """The conversation was cleared."""


class AuthStatus(_Quiet, gc=False, tag="auth_status"):
    """The CLI logs in."""


class PromptSuggestion(_Quiet, gc=False, tag="prompt_suggestion"):
    """A suggestion for the next prompt."""


class KeepAlive(_Quiet, gc=False, tag="keep_alive"):
    """A line that only shows that the CLI is alive."""


Notice: TypeAlias = (
    ToolProgress
    | ControlResponse
    | ControlCancel
    | CommandLifecycle
    | ConversationReset
    | AuthStatus
    | PromptSuggestion
    | KeepAlive
)
Known: TypeAlias = Assistant | User | PartialMessage | System | Result | RateLimit | ControlRequest | Notice
Line: TypeAlias = Known | Unknown
