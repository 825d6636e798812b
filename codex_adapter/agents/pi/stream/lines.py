"""Define the lines of `pi --mode json`, with the fields that are used (T2).

Fields that are not listed are skipped without being decoded. This matters most for `message_update`: up to release 0.80
each fragment comes with two copies of the whole message. A line of any other type is `Unknown` (T4).
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = [
    "NO_VALUE",
    "AgentEnd",
    "AgentSettled",
    "AgentStart",
    "CompactionEnd",
    "ExtensionError",
    "Known",
    "Line",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "Notice",
    "RetryEnd",
    "RetryStart",
    "Session",
    "ToolEnd",
    "ToolStart",
    "ToolUpdate",
    "TurnEnd",
    "Unknown",
]

NO_VALUE = msgspec.Raw(b"null")


class Session(msgspec.Struct, gc=False, tag="session"):
    """The first line: the session of the run."""

    id: str


class AgentStart(msgspec.Struct, gc=False, tag="agent_start"):
    """The agent begins to work on a prompt, or tries again after a failed request."""


class Speaker(msgspec.Struct, gc=False):
    """The beginning of a message: `role` is `assistant`, `user`, `toolResult`, `system` or another word.

    Only an answer of the model has a `model`.
    """

    role: str
    model: str | None = None


class MessageStart(msgspec.Struct, gc=False, tag="message_start"):
    """A message begins."""

    message: Speaker


class Part(msgspec.Struct, gc=False, rename="camel"):
    """A part of an answer. `delta` is a fragment, `content` the whole text at the end."""

    type: str
    content_index: int = 0
    delta: str = ""
    content: str = ""


class MessageUpdate(msgspec.Struct, gc=False, rename="camel", tag="message_update"):
    """A part of an answer of the model, as it arrives.

    `usage` is that of the answer so far. Before 0.87 it is in `message`, the whole message so far. Both are only
    decoded if the run is stopped.
    """

    assistant_message_event: Part
    usage: msgspec.Raw = NO_VALUE
    message: msgspec.Raw = NO_VALUE


class OpenAnswer(msgspec.Struct, gc=False):
    """An answer that has not ended."""

    usage: msgspec.Raw = NO_VALUE


class Message(msgspec.Struct, gc=False, rename="camel"):
    """A whole message. The fields after `content` exist only in an answer of the model."""

    role: str
    content: msgspec.Raw = NO_VALUE
    api: str = ""
    stop_reason: str | None = None
    error_message: str | None = None
    usage: msgspec.Raw = NO_VALUE


class MessageEnd(msgspec.Struct, gc=False, tag="message_end"):
    """A message is whole."""

    message: Message


class Block(msgspec.Struct, gc=False):
    """A block of a message's or a result's content; only blocks of the type `text` have a text that is used."""

    type: str | None = None
    text: str = ""


class ToolStart(msgspec.Struct, gc=False, rename="camel", tag="tool_execution_start"):
    """A tool begins to work."""

    tool_call_id: str
    tool_name: str
    args: msgspec.Raw = NO_VALUE


class ToolUpdate(msgspec.Struct, gc=False, rename="camel", tag="tool_execution_update"):
    """A tool is at work. The line has its whole output so far, which is skipped."""

    tool_call_id: str
    tool_name: str


class Details(msgspec.Struct, gc=False):
    """The details of a result: the tool `edit` has a `diff`."""

    diff: str | None = None


class ToolResult(msgspec.Struct, gc=False):
    """The result of a tool."""

    content: list[Block] = []
    details: msgspec.Raw = NO_VALUE


class ToolEnd(msgspec.Struct, gc=False, rename="camel", tag="tool_execution_end"):
    """A tool has ended."""

    tool_call_id: str
    tool_name: str
    result: msgspec.Raw = NO_VALUE
    is_error: bool = False


class TurnEnd(msgspec.Struct, gc=False, tag="turn_end"):
    """An answer of the model and the results of its tools, which earlier lines have too."""


class AgentEnd(msgspec.Struct, gc=False, rename="camel", tag="agent_end"):
    """The agent stops, with all messages of the run again.

    From 0.78 on, `will_retry` is set, and from 0.80 on, `agent_settled` follows. Before, a retry may follow without an
    announcement.
    """

    will_retry: bool | None = None


class AgentSettled(msgspec.Struct, gc=False, tag="agent_settled"):
    """Nothing follows: the end of the work, retries and compaction included."""


class RetryStart(msgspec.Struct, gc=False, rename="camel", tag="auto_retry_start"):
    """The agent waits to try a failed request again."""

    attempt: int | None = None
    max_attempts: int | None = None
    delay_ms: int | float | None = None
    error_message: str = ""


class RetryEnd(msgspec.Struct, gc=False, rename="camel", tag="auto_retry_end"):
    """The retries have ended, with or without success."""


class Cost(msgspec.Struct, gc=False):
    """The cost of an answer in US dollars."""

    total: float | None = None


class Usage(msgspec.Struct, gc=False):
    """The part of an answer's usage that is not a count of tokens."""

    cost: Cost | None = None


class Compaction(msgspec.Struct, gc=False):
    """The result of a compaction, which is a request to the model."""

    usage: msgspec.Raw = NO_VALUE


class CompactionEnd(msgspec.Struct, gc=False, rename="camel", tag="compaction_end"):
    """The conversation was replaced by a summary, or could not be."""

    result: Compaction | None = None
    error_message: str | None = None


class ExtensionError(msgspec.Struct, gc=False, tag="extension_error"):
    """An extension of the CLI failed."""


class Unknown(msgspec.Struct, gc=False):
    """A line of a type that is not known (T4)."""

    type: str


class TurnStart(msgspec.Struct, gc=False, tag="turn_start"):
    """The model is asked for an answer."""


class CompactionStart(msgspec.Struct, gc=False, tag="compaction_start"):
    """The conversation is too long, and the model summarizes it."""


class EntryAppended(msgspec.Struct, gc=False, tag="entry_appended"):
    """The session's file has a new entry."""


class QueueUpdate(msgspec.Struct, gc=False, tag="queue_update"):
    """The prompts that wait."""


class SessionInfoChanged(msgspec.Struct, gc=False, tag="session_info_changed"):
    """The session has another name."""


class ThinkingLevelChanged(msgspec.Struct, gc=False, tag="thinking_level_changed"):
    """The model thinks more or less."""


class SummaryRetryScheduled(msgspec.Struct, gc=False, tag="summarization_retry_scheduled"):
    """The request of a compaction failed, and the agent waits to try again."""


class SummaryRetryStart(msgspec.Struct, gc=False, tag="summarization_retry_attempt_start"):
    """The agent tries the request of a compaction again."""


class SummaryRetryFinished(msgspec.Struct, gc=False, tag="summarization_retry_finished"):
    """The retries of a compaction have ended."""


class BashUpdate(msgspec.Struct, gc=False, tag="bash_execution_update"):
    """A command of the user is at work."""


class Response(msgspec.Struct, gc=False, tag="response"):
    """An answer to a request of the host."""


class ExtensionRequest(msgspec.Struct, gc=False, tag="extension_ui_request"):
    """A question of an extension to the host."""


Notice: TypeAlias = (
    TurnStart
    | CompactionStart
    | EntryAppended
    | QueueUpdate
    | SessionInfoChanged
    | ThinkingLevelChanged
    | SummaryRetryScheduled
    | SummaryRetryStart
    | SummaryRetryFinished
    | BashUpdate
    | Response
    | ExtensionRequest
    | RetryEnd
)
Known: TypeAlias = (
    Session
    | AgentStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolStart
    | ToolUpdate
    | ToolEnd
    | TurnEnd
    | AgentEnd
    | AgentSettled
    | RetryStart
    | CompactionEnd
    | ExtensionError
    | Notice
)
Line: TypeAlias = Known | Unknown
