"""Define the output of a run: universal events, their typed facets, and the completion.

An `Event` is bounded and redacted (B, X). Its `data` is None or one of the facet structs. msgspec writes the `schema`
of a facet as its tag.
"""

from __future__ import annotations

import signal as _signal
from typing import Any, Final, Literal, TypeAlias

import msgspec
from typing_extensions import override

from codex_adapter.hints import ADVICE, Hint
from codex_adapter.tool_calls import (
    TOOL_KINDS,
    PayloadText,
    Tool,
    ToolBytes,
    ToolCall,
    ToolInput,
    ToolOutput,
    ToolPhase,
    ToolStatus,
)

__all__ = [
    "TOOL_KINDS",
    "TURN_FAILED",
    "AgentInfo",
    "Completion",
    "Dropped",
    "DroppedReason",
    "ErrorSource",
    "Event",
    "EventKind",
    "ExitStatus",
    "Facet",
    "HintNotice",
    "PayloadText",
    "Plan",
    "PlanItem",
    "PlanStatus",
    "RateLimit",
    "RateLimitStatus",
    "Retry",
    "Session",
    "SessionHandle",
    "TextPart",
    "TextPhase",
    "TokenUsage",
    "Tool",
    "ToolBytes",
    "ToolCall",
    "ToolInput",
    "ToolOutput",
    "ToolPhase",
    "ToolStatus",
    "TurnOutcome",
    "UnknownLine",
]

TURN_FAILED = "turn failed"
"""The message of the status event that ends a failed turn (M1)."""

EventKind = Literal["text_output", "tool_call", "tool_result", "status", "error", "unknown"]
TextPhase = Literal["start", "snapshot", "delta", "complete"]
TurnOutcome = Literal["completed", "failed", "cut_off"]
PlanStatus = Literal["pending", "in_progress", "completed"]
RateLimitStatus = Literal["allowed", "warning", "rejected", "unknown"]

# A struct with `omit_defaults` always writes a field whose default comes from a function.
_ONE: Final = msgspec.field(default_factory=lambda: 1)
_FALSE: Final = msgspec.field(default_factory=lambda: False)


class TextPart(
    msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.text.v1", omit_defaults=True
):
    """The place of a text_output: its item, the phase of the text, and the number of the piece.

    With the `phase` `delta` the text is appended; with any other phase it is a snapshot of the whole text. A text over
    the limit is split over `parts` events; `part` counts from 1. `parent_id` is the id of the tool call that started
    the sub-agent, or None for the agent itself (M4, M11).
    """

    item_id: str | None
    """The id of the text. Pieces of one text have the same id."""
    item_type: str
    """The kind of the text, for example `agent_message` or `reasoning`."""
    phase: TextPhase
    """With `delta`, the text is appended. With any other phase, it is the whole text."""
    part: int = _ONE
    """The number of this part of a long text, from 1."""
    parts: int = _ONE
    """The number of parts of the text."""
    parent_id: str | None = None
    """The id of the tool call that started the sub-agent. Without it, the event is the agent's own."""


class Session(msgspec.Struct, frozen=True, gc=False):
    """The id with which a later run can resume or fork this session (M5)."""

    id: str
    """The id with which a later run can resume or fork the session."""


class SessionHandle(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="agent_api.session.handle.v1"):
    """The session's id, reported once per run on a status event (M5)."""

    session: Session
    """The session."""


class TokenUsage(
    msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.usage.v1", omit_defaults=True
):
    """The token counts of a turn's end, with the names that the CLI uses.

    `cost_usd` is the cost of this turn in US dollars as the CLI reports it, or None (M6, F13).
    """

    usage: dict[str, int]
    """Counts of tokens, by the names of the CLI."""
    cost_usd: float | None = None
    """The cost of the turn in US dollars, as the CLI reports it."""


class PlanItem(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One step of the agent's plan. `status` is None if the agent reports only whether the step is completed (M6)."""

    text: str
    """The step."""
    completed: bool = _FALSE
    """Whether the step is done."""
    status: PlanStatus | None = None
    """The state of the step, if the agent reports one."""


class Plan(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.plan.v1"):
    """The agent's whole plan as of this event (M6)."""

    items: tuple[PlanItem, ...]
    """All steps, in their order."""


class ErrorSource(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.error.v1"):
    """The origin of an error that the CLI reported: a warning item or an `error` line. Neither is terminal (M8)."""

    source: Literal["item", "event"]
    """`item` for a warning of the agent, `event` for an error of its stream. Neither ends the run."""


class HintNotice(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.hint.v1"):
    """A cause that is found while the run continues: a hint word and its advice (F12)."""

    hint: str
    """The cause."""
    advice: str
    """The next step, for a person."""


class Retry(
    msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.retry.v1", omit_defaults=True
):
    """The agent's notice that a model request failed and that it tries again.

    `number` counts the retries of this request from 1, up to `max_retries`. `delay` is the time until the retry, in
    seconds. `http_status` is the status of the failed answer. `hint` is the cause (M12).
    """

    number: int | None = None
    """The number of the retry, from 1."""
    max_retries: int | None = None
    """The most retries of this request."""
    delay: float | None = None
    """The time until the retry, in seconds."""
    http_status: int | None = None
    """The HTTP status of the failed answer."""
    hint: str | None = None
    """The cause, if it is known."""


class RateLimit(
    msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.rate_limit.v1", omit_defaults=True
):
    """A limit of the account, as the agent reports it.

    `window` is the agent's name of the kind of limit. `resets_at` is a time in seconds since 1970. `utilization` is the
    used part, where 1 is all. `hint` is set if the limit is reached (M13).
    """

    status: RateLimitStatus
    """The state of the limit."""
    window: str | None = None
    """The agent's name of the limit."""
    resets_at: int | None = None
    """The time when the limit is lifted, in seconds since 1970."""
    utilization: float | None = None
    """The used part of the limit. 1 is all."""
    hint: str | None = None
    """The cause, if the limit is reached."""


class AgentInfo(
    msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.agent.v1", omit_defaults=True
):
    """The release of the agent's CLI and the model, as the CLI itself reports them in mid-run (M14)."""

    release: str | None = None
    """The release of the agent's CLI."""
    model: str | None = None
    """The model."""


class UnknownLine(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.unknown.v1"):
    """A well-formed line of an unknown type: only its two type names, masked and cut (T4)."""

    type: str | None
    """The type of the line."""
    item_type: str | None
    """The type of its item."""


class DroppedReason(msgspec.Struct, frozen=True, gc=False):
    """The reason why a facet is missing (B4)."""

    reason: Literal["oversize"] = "oversize"
    """`oversize`: the content was over its limit."""


class Dropped(msgspec.Struct, frozen=True, gc=False):
    """A replacement for a facet over its limit (B4)."""

    dropped: DroppedReason = DroppedReason()
    """Why the content is missing."""


Facet: TypeAlias = (
    TextPart
    | ToolCall
    | SessionHandle
    | TokenUsage
    | Plan
    | ErrorSource
    | HintNotice
    | Retry
    | RateLimit
    | AgentInfo
    | UnknownLine
    | Dropped
)


class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type", tag="event"):
    """One universal event: bounded, redacted, and encodable as UTF-8. Its JSON is the record on the wire.

    `seq` counts the events of a run from 0, without gaps. Only text_output has `text`. Every error has a `message`, and
    some status events do (M0, M1, B6, W1).
    """

    seq: int
    """The number of the event, from 0 and without gaps."""
    agent_kind: str
    """The kind of the agent."""
    kind: EventKind
    """What happened."""
    channel: str | None = None
    """The group of the event: `assistant`, `tool`, `status` or `error`."""
    text: str | None = None
    """The text of a `text_output`."""
    message: str | None = None
    """The text of an error, and of some status events."""
    data: Facet | None = None
    """What a program needs of the event, by its `schema`."""


class ExitStatus(msgspec.Struct, frozen=True, gc=False):
    """The end of the agent's process: an exit `code`, or the name of the `signal` that killed it."""

    code: int | None = None
    """The exit status."""
    signal: str | None = None
    """The name of the signal that killed the process, for example `SIGKILL`."""

    @classmethod
    def from_returncode(cls, returncode: int) -> ExitStatus:
        """Convert a return code of `subprocess`, which is negative for a signal."""
        if returncode >= 0:
            return cls(code=returncode)
        try:
            return cls(signal=_signal.Signals(-returncode).name)
        except ValueError:
            return cls(signal=f"SIG{-returncode}")

    @property
    def success(self) -> bool:
        """Whether the process exited with status zero."""
        return self.code == 0

    @property
    def signal_number(self) -> int | None:
        """The number of the signal, None for an exit."""
        if self.signal is None:
            return None
        known = _signal.Signals.__members__.get(self.signal)
        return int(known) if known is not None else int(self.signal[3:])

    @override
    def __str__(self) -> str:
        """Return the `{status}` of the canonical texts (X4)."""
        if self.signal is None:
            return f"exit status: {self.code}"
        return f"signal: {self.signal_number} ({self.signal})"


class Completion(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The result of a finished run, which exists only after its events are final.

    `usage` is the CLI's count at the end of the last turn; `run_usage` is this run's own part, which is a lower bound
    if the turn did not complete. `cost_usd` is the cost of this run as the CLI reports it. `hint` is the cause of a
    failure. Each is None if it is unknown. `advice` is the next step for the hint, by default the general sentence,
    None without a hint (F1, F2, F3, F9, F10, F13).
    """

    status: ExitStatus
    """How the process of the agent ended."""
    final_text: str | None = None
    """The last message of the agent."""
    data: Any = None
    """The last message as JSON, if the request has a schema for it."""
    session_id: str | None = None
    """The id with which a later run can resume the session."""
    turn: TurnOutcome | None = None
    """How the turn ended. Without it, no turn was seen."""
    usage: dict[str, int] | None = None
    """Counts of tokens at the end of the last turn, by the names of the CLI. They may count the whole session."""
    run_usage: dict[str, int] | None = None
    """Counts of tokens of this run alone, if they are known. They are a lower bound if the turn did not complete."""
    cost_usd: float | None = None
    """The cost of the run in US dollars, as the CLI reports it."""
    hint: Hint | None = None
    """The cause of a failure, if it is known."""
    advice: str | None = None
    """The next step for the hint, for a person."""

    def __post_init__(self) -> None:
        """Add the general advice for the hint."""
        if self.advice is None and self.hint is not None:
            msgspec.structs.force_setattr(self, "advice", ADVICE[self.hint])

    @property
    def ok(self) -> bool:
        """Whether the run succeeded: its turn completed, the agent exited with 0, and there is no hint (F11)."""
        return self.turn == "completed" and self.status.success and self.hint is None
