"""Define the requests, responses and events of turns (U1, U2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta
from typing_extensions import override

from codex_adapter.turn_errors import AgentSpacesError, ErrorCode

__all__ = [
    "AgentEvent",
    "AgentSpacesError",
    "CompleteEvent",
    "DescribeRequest",
    "DescribeResponse",
    "ErrorCode",
    "HarnessCapabilities",
    "HarnessModels",
    "LogEvent",
    "LogLevel",
    "MessageDeltaEvent",
    "MessageEvent",
    "ResolveRequest",
    "ResolveResponse",
    "Role",
    "RunResult",
    "RunTurnRequest",
    "RunTurnResponse",
    "SessionCallbacks",
    "SessionState",
    "SpaceSpec",
    "StateEvent",
    "Target",
    "ToolCallEvent",
    "ToolResultEvent",
]

SessionState: TypeAlias = Literal["running", "complete", "error"]
Role: TypeAlias = Literal["user", "assistant"]
LogLevel: TypeAlias = Literal["debug", "info", "warn", "error"]
# The types of a request's members. An error quotes the description.
_Text: TypeAlias = Annotated[str, Meta(description="a string")]
_TextOrNone: TypeAlias = Annotated[str | None, Meta(description="a string, or absent")]
_Env: TypeAlias = Annotated[Mapping[str, str], Meta(description="an object whose values are strings")]
_Flag: TypeAlias = Annotated[bool, Meta(description="true or false")]
_Paths: TypeAlias = Annotated[tuple[str, ...], Meta(description="a list of strings")]


class _Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A message, whose names are in camelCase on the wire. Members with their default value are omitted."""


class Target(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A target by its name in the targets file of `target_dir`, an absolute path (Z4)."""

    target_name: str
    """The name of the target."""
    target_dir: str
    """The absolute path of the directory with the targets file."""


class SpaceSpec(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The spaces of a turn's environment: exactly one of the two members (U3)."""

    spaces: tuple[str, ...] | None = None
    """References of spaces, for example `space:path:DIRECTORY`. Later ones take precedence."""
    target: Target | None = None
    """A named list of spaces."""


_Spec: TypeAlias = Annotated[
    SpaceSpec,
    Meta(description="an object with spaces, a list of strings, or target, an object with targetName and targetDir"),
]


class RunResult(_Message, frozen=True, kw_only=True):
    """The result of a turn; `final_output` is the text of the last message."""

    success: bool
    """Whether the turn succeeded."""
    final_output: str | None = None
    """The text of the last message."""
    error: AgentSpacesError | None = None
    """Why the turn failed."""


class _Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="type"):
    """An event. `ts` is UTC in ISO 8601, `seq` counts from 1, `harness_session_id` is None until it is known."""

    ts: str
    """The time, UTC in ISO 8601."""
    seq: int
    """The number of the event in its turn, from 1."""
    external_session_id: str
    """The `externalSessionId` of the request."""
    external_run_id: str
    """The `externalRunId` of the request."""
    harness_session_id: str | None = None
    """The key of the conversation, as soon as it is known."""


class StateEvent(_Event, frozen=True, kw_only=True, tag="state"):
    """The state of the turn."""

    state: SessionState
    """The new state."""


class MessageEvent(_Event, frozen=True, kw_only=True, tag="message"):
    """A complete message."""

    role: Role
    """The author of the message."""
    content: str
    """The whole text."""


class MessageDeltaEvent(_Event, frozen=True, kw_only=True, tag="message_delta"):
    """A fragment of a message: new text at its end, before the message is complete."""

    role: Literal["assistant"]
    """The author of the message."""
    delta: str
    """The text to append."""


class ToolCallEvent(_Event, frozen=True, kw_only=True, tag="tool_call"):
    """A call of a tool."""

    tool_use_id: str
    """The id of the call."""
    tool_name: str
    """The name of the tool."""
    input: Any
    """The arguments of the call."""


class ToolResultEvent(_Event, frozen=True, kw_only=True, tag="tool_result"):
    """The result of the call with this id."""

    tool_use_id: str
    """The id of the call."""
    tool_name: str
    """The name of the tool."""
    output: Any
    """The output of the tool."""
    is_error: bool
    """Whether the call failed."""


class LogEvent(_Event, frozen=True, kw_only=True, tag="log"):
    """Any other information."""

    level: LogLevel
    """The severity."""
    message: str
    """The text, for a person."""
    fields: dict[str, Any] | None = None
    """Further facts, for a program."""


class CompleteEvent(_Event, frozen=True, kw_only=True, tag="complete"):
    """The last event of a turn."""

    result: RunResult
    """The result of the turn."""


AgentEvent: TypeAlias = (
    StateEvent | MessageEvent | MessageDeltaEvent | ToolCallEvent | ToolResultEvent | LogEvent | CompleteEvent
)


class SessionCallbacks(msgspec.Struct, frozen=True):
    """The callback for a turn's events, one call after another. If the result is awaitable, it is awaited (U2)."""

    on_event: Callable[[AgentEvent], Awaitable[None] | None]


class RunTurnRequest(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for one turn.

    Each event has the external ids. `env` is passed on unchanged. `accept_changed_spaces` accepts the current spaces
    and targets, even if an agent may have changed them (U1, Z11).
    """

    external_session_id: _Text
    """The caller's own id of the conversation. It is in each event."""
    external_run_id: _Text
    """The caller's own id of the turn. It is in each event."""
    asp_home: _Text
    """The absolute path of the directory in which spaces are stored."""
    spec: _Spec
    """The spaces of the turn."""
    harness: _Text
    """The harness that runs the turn."""
    cwd: _Text
    """The absolute path of the directory in which the agent works."""
    prompt: _Text
    """The text for the agent."""
    model: _TextOrNone = None
    """One of the models of the harness. Without it, the harness chooses."""
    harness_session_id: _TextOrNone = None
    """The key of the conversation to continue. Without it, a new one starts."""
    env: _Env = {}
    """Variables to add to the environment of the agent."""
    attachments: _Paths = ()
    """Paths of files for the agent to read."""
    accept_changed_spaces: _Flag = False
    """Whether spaces that an agent may have changed are accepted as they are now."""

    @override
    def __repr__(self) -> str:
        """Show nothing: it may be secret (X1)."""
        return "RunTurnRequest(...)"


class RunTurnResponse(_Message, frozen=True, kw_only=True):
    """The result of a turn, and the key by which the conversation is resumed (U8)."""

    harness: str
    """The harness that ran the turn."""
    result: RunResult
    """The result of the turn."""
    harness_session_id: str | None = None
    """The key of the conversation, with which a later turn continues it."""
    model: str | None = None
    """The model of the turn, if it is known."""


class ResolveRequest(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to check whether a spec can be resolved."""

    asp_home: _Text
    """The absolute path of the directory in which spaces are stored."""
    spec: _Spec
    """The spaces to check."""
    accept_changed_spaces: _Flag = False
    """Whether spaces that an agent may have changed are accepted as they are now."""


class ResolveResponse(_Message, frozen=True, kw_only=True):
    """Whether the spec can be resolved, and why not."""

    ok: bool
    """Whether the spaces can be resolved."""
    error: AgentSpacesError | None = None
    """Why not."""


class DescribeRequest(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for the names in the environment of a spec."""

    asp_home: _Text
    """The absolute path of the directory in which spaces are stored."""
    spec: _Spec
    """The spaces to describe."""
    accept_changed_spaces: _Flag = False
    """Whether spaces that an agent may have changed are accepted as they are now."""


class DescribeResponse(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The names in an environment. `unanswered` are the servers whose tools could not be listed (U11)."""

    hooks: tuple[str, ...]
    """The names of the hooks."""
    skills: tuple[str, ...]
    """The names of the skills."""
    tools: tuple[str, ...]
    """The names of the tools of MCP servers."""
    unanswered: tuple[str, ...] = ()
    """The MCP servers whose tools could not be listed."""


class HarnessModels(msgspec.Struct, frozen=True, kw_only=True):
    """A harness that works here, and its models as `provider/name` (U5)."""

    id: str
    """The name of the harness."""
    models: tuple[str, ...]
    """Its models as `provider/name`, the default first."""


class HarnessCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The harnesses that work here (U5)."""

    harnesses: tuple[HarnessModels, ...]
    """The harnesses that work here."""
