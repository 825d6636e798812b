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
    target_dir: str


class SpaceSpec(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The spaces of a turn's environment: exactly one of the two members (U3)."""

    spaces: tuple[str, ...] | None = None
    target: Target | None = None


_Spec: TypeAlias = Annotated[
    SpaceSpec,
    Meta(description="an object with spaces, a list of strings, or target, an object with targetName and targetDir"),
]


class RunResult(_Message, frozen=True, kw_only=True):
    """The result of a turn; `final_output` is the text of the last message."""

    success: bool
    final_output: str | None = None
    error: AgentSpacesError | None = None


class _Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="type"):
    """An event. `ts` is UTC in ISO 8601, `seq` counts from 1, `harness_session_id` is None until it is known."""

    ts: str
    seq: int
    external_session_id: str
    external_run_id: str
    harness_session_id: str | None = None


class StateEvent(_Event, frozen=True, kw_only=True, tag="state"):
    """The state of the turn."""

    state: SessionState


class MessageEvent(_Event, frozen=True, kw_only=True, tag="message"):
    """A complete message."""

    role: Role
    content: str


class MessageDeltaEvent(_Event, frozen=True, kw_only=True, tag="message_delta"):
    """A fragment of a message: new text at its end, before the message is complete."""

    role: Literal["assistant"]
    delta: str


class ToolCallEvent(_Event, frozen=True, kw_only=True, tag="tool_call"):
    """A call of a tool."""

    tool_use_id: str
    tool_name: str
    input: Any


class ToolResultEvent(_Event, frozen=True, kw_only=True, tag="tool_result"):
    """The result of the call with this id."""

    tool_use_id: str
    tool_name: str
    output: Any
    is_error: bool


class LogEvent(_Event, frozen=True, kw_only=True, tag="log"):
    """Any other information."""

    level: LogLevel
    message: str
    fields: dict[str, Any] | None = None


class CompleteEvent(_Event, frozen=True, kw_only=True, tag="complete"):
    """The last event of a turn."""

    result: RunResult


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
    external_run_id: _Text
    asp_home: _Text
    spec: _Spec
    harness: _Text
    cwd: _Text
    prompt: _Text
    model: _TextOrNone = None
    harness_session_id: _TextOrNone = None
    env: _Env = {}
    attachments: _Paths = ()
    accept_changed_spaces: _Flag = False

    @override
    def __repr__(self) -> str:
        """Show nothing: it may be secret (X1)."""
        return "RunTurnRequest(...)"


class RunTurnResponse(_Message, frozen=True, kw_only=True):
    """The result of a turn, and the key by which the conversation is resumed (U8)."""

    harness: str
    result: RunResult
    harness_session_id: str | None = None
    model: str | None = None


class ResolveRequest(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to check whether a spec can be resolved."""

    asp_home: _Text
    spec: _Spec
    accept_changed_spaces: _Flag = False


class ResolveResponse(_Message, frozen=True, kw_only=True):
    """Whether the spec can be resolved, and why not."""

    ok: bool
    error: AgentSpacesError | None = None


class DescribeRequest(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for the names in the environment of a spec."""

    asp_home: _Text
    spec: _Spec
    accept_changed_spaces: _Flag = False


class DescribeResponse(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The names in an environment. `unanswered` are the servers whose tools could not be listed (U11)."""

    hooks: tuple[str, ...]
    skills: tuple[str, ...]
    tools: tuple[str, ...]
    unanswered: tuple[str, ...] = ()


class HarnessModels(msgspec.Struct, frozen=True, kw_only=True):
    """A harness that works here, and its models as `provider/name` (U5)."""

    id: str
    models: tuple[str, ...]


class HarnessCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The harnesses that work here (U5)."""

    harnesses: tuple[HarnessModels, ...]
