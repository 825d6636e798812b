"""What crosses the boundary of a turn: requests, responses, and the events between them (U1, U2)."""

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
# What a request's members take, in the words by which they are refused.
_Text: TypeAlias = Annotated[str, Meta(description="a string")]
_TextOrNone: TypeAlias = Annotated[str | None, Meta(description="a string, or absent")]
_Env: TypeAlias = Annotated[Mapping[str, str], Meta(description="an object whose values are strings")]
_Flag: TypeAlias = Annotated[bool, Meta(description="true or false")]
_Paths: TypeAlias = Annotated[tuple[str, ...], Meta(description="a list of strings")]


class _Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Names in camelCase on the wire, and nothing there for what is absent."""


class Target(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named composition in the targets file of `target_dir`, an absolute path (Z4)."""

    target_name: str
    target_dir: str


class SpaceSpec(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a turn's environment is made of: exactly one of the two (U3)."""

    spaces: tuple[str, ...] | None = None
    target: Target | None = None


_Spec: TypeAlias = Annotated[
    SpaceSpec,
    Meta(description="an object with spaces, a list of strings, or target, an object with targetName and targetDir"),
]


class RunResult(_Message, frozen=True, kw_only=True):
    """How a turn went; `final_output` is the text of the last message."""

    success: bool
    final_output: str | None = None
    error: AgentSpacesError | None = None


class _Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="type"):
    """What every event has: `ts` is UTC in ISO 8601, `seq` counts from 1; the harness's session once it is known."""

    ts: str
    seq: int
    external_session_id: str
    external_run_id: str
    harness_session_id: str | None = None


class StateEvent(_Event, frozen=True, kw_only=True, tag="state"):
    """Where the turn stands."""

    state: SessionState


class MessageEvent(_Event, frozen=True, kw_only=True, tag="message"):
    """A whole message."""

    role: Role
    content: str


class MessageDeltaEvent(_Event, frozen=True, kw_only=True, tag="message_delta"):
    """What a message grew by, before it is whole."""

    role: Literal["assistant"]
    delta: str


class ToolCallEvent(_Event, frozen=True, kw_only=True, tag="tool_call"):
    """A tool is called."""

    tool_use_id: str
    tool_name: str
    input: Any


class ToolResultEvent(_Event, frozen=True, kw_only=True, tag="tool_result"):
    """What the call of this id came to."""

    tool_use_id: str
    tool_name: str
    output: Any
    is_error: bool


class LogEvent(_Event, frozen=True, kw_only=True, tag="log"):
    """Anything else that somebody may want to see."""

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
    """Who is told of a turn's events, one after another; what is awaitable is awaited (U2)."""

    on_event: Callable[[AgentEvent], Awaitable[None] | None]


class RunTurnRequest(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One turn. The external ids come back on each event; `env` is passed on as it is (U1).

    `accept_changed_spaces` takes spaces and targets as they are now, whoever has changed them (Z11).
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
    """What a turn came to, and by which key the conversation goes on (U8)."""

    harness: str
    result: RunResult
    harness_session_id: str | None = None
    model: str | None = None


class ResolveRequest(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether this can be resolved."""

    asp_home: _Text
    spec: _Spec
    accept_changed_spaces: _Flag = False


class ResolveResponse(_Message, frozen=True, kw_only=True):
    """That it can, or why not."""

    ok: bool
    error: AgentSpacesError | None = None


class DescribeRequest(_Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What there is in this."""

    asp_home: _Text
    spec: _Spec
    accept_changed_spaces: _Flag = False


class DescribeResponse(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The names of all there is; `unanswered` are the servers whose tools could not be asked for (U11)."""

    hooks: tuple[str, ...]
    skills: tuple[str, ...]
    tools: tuple[str, ...]
    unanswered: tuple[str, ...] = ()


class HarnessModels(msgspec.Struct, frozen=True, kw_only=True):
    """A harness that works here, and its models as `provider/name` (U5)."""

    id: str
    models: tuple[str, ...]


class HarnessCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    harnesses: tuple[HarnessModels, ...]
