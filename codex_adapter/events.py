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

__all__ = [
    "TOOL_KINDS",
    "TURN_FAILED",
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
ToolPhase = Literal["start", "delta", "complete", "fail"]
ToolStatus = Literal["pending", "running", "completed", "failed", "unknown"]
TurnOutcome = Literal["completed", "failed", "cut_off"]
TOOL_KINDS: Final = (
    *("command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call"),
    *("file_read", "search", "web_fetch", "other"),
)
"""The kinds of tool calls, named by what they do, not by an agent's name for the tool (AG6)."""


class TextPart(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.text.v1"):
    """The place of a text_output: its item, the phase of the text, and the number of the piece.

    With the `phase` `delta` the text is appended; with any other phase it is a snapshot of the whole text. A text over
    the limit is split over `parts` events; `part` counts from 1 (M4).
    """

    item_id: str | None
    item_type: str
    phase: TextPhase
    part: int = 1
    parts: int = 1


class ToolBytes(msgspec.Struct, frozen=True, gc=False):
    """Sizes of a tool's output, in bytes of UTF-8 (M3)."""

    stdout: int = 0
    stderr: int = 0
    diff: int = 0
    result: int = 0


class PayloadText(msgspec.Struct, frozen=True, gc=False):
    """A masked text of at most 16 KiB. `truncated` is True if the original was longer (M7)."""

    text: str
    truncated: bool


class ToolInput(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The input of a tool call, in the field that fits its kind (M7)."""

    command: PayloadText | None = None
    changes: PayloadText | None = None
    server: PayloadText | None = None
    tool: PayloadText | None = None
    arguments: PayloadText | None = None
    query: PayloadText | None = None


class ToolOutput(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The output of a tool call (M7)."""

    aggregated_output: PayloadText | None = None
    result: PayloadText | None = None
    error: PayloadText | None = None


class Tool(msgspec.Struct, frozen=True, gc=False):
    """The current state of one tool call. `kind` is one of `TOOL_KINDS`, `status` the item's own (M3, AG6)."""

    backend_item_id: str | None
    thread_id: str | None
    turn_id: str | None
    kind: str
    phase: ToolPhase
    status: ToolStatus
    exit_code: int | None
    bytes: ToolBytes
    tool_name: str | None
    tool_use_id: str | None = None


class ToolCall(
    msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="agent_api.tools.structured.v1", omit_defaults=True
):
    """The facet of every tool_call and tool_result. `input` and `output` are optional payloads (M3, M7)."""

    tool: Tool
    input: ToolInput | None = None
    output: ToolOutput | None = None


class Session(msgspec.Struct, frozen=True, gc=False):
    """The id with which a later run can resume or fork this session (M5)."""

    id: str


class SessionHandle(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="agent_api.session.handle.v1"):
    """The session's id, reported once per run on a status event (M5)."""

    session: Session


class TokenUsage(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.usage.v1"):
    """The token counts of a turn's end, with the names that the CLI uses (M6)."""

    usage: dict[str, int]


class PlanItem(msgspec.Struct, frozen=True, gc=False):
    """One step of the agent's plan (M6)."""

    text: str
    completed: bool = False


class Plan(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.plan.v1"):
    """The agent's whole plan as of this event (M6)."""

    items: tuple[PlanItem, ...]


class ErrorSource(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.error.v1"):
    """The origin of an error that the CLI reported: a warning item or an `error` line. Neither is terminal (M8)."""

    source: Literal["item", "event"]


class HintNotice(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.hint.v1"):
    """A cause that is found while the run continues: a hint word and its advice (F12)."""

    hint: str
    advice: str


class UnknownLine(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.unknown.v1"):
    """A well-formed line of an unknown type: only its two type names, masked and cut (T4)."""

    type: str | None
    item_type: str | None


class DroppedReason(msgspec.Struct, frozen=True, gc=False):
    """The reason why a facet is missing (B4)."""

    reason: Literal["oversize"] = "oversize"


class Dropped(msgspec.Struct, frozen=True, gc=False):
    """A replacement for a facet over its limit (B4)."""

    dropped: DroppedReason = DroppedReason()


Facet: TypeAlias = (
    TextPart | ToolCall | SessionHandle | TokenUsage | Plan | ErrorSource | HintNotice | UnknownLine | Dropped
)


class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type", tag="event"):
    """One universal event: bounded, redacted, and encodable as UTF-8. Its JSON is the record on the wire.

    `seq` counts the events of a run from 0, without gaps. Only text_output has `text`. Every error has a `message`, and
    some status events do (M0, M1, B6, W1).
    """

    seq: int
    agent_kind: str
    kind: EventKind
    channel: str | None = None
    text: str | None = None
    message: str | None = None
    data: Facet | None = None


class ExitStatus(msgspec.Struct, frozen=True, gc=False):
    """The end of the agent's process: an exit `code`, or the name of the `signal` that killed it."""

    code: int | None = None
    signal: str | None = None

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

    `usage` is the CLI's count at the end of the last turn; `run_usage` is this run's own part. `hint` is the cause of a
    failure. Each is None if it is unknown. `advice` is the next step for the hint, by default the general
    sentence, None without a hint (F1, F2, F3, F9, F10).
    """

    status: ExitStatus
    final_text: str | None = None
    data: Any = None
    session_id: str | None = None
    turn: TurnOutcome | None = None
    usage: dict[str, int] | None = None
    run_usage: dict[str, int] | None = None
    hint: Hint | None = None
    advice: str | None = None

    def __post_init__(self) -> None:
        """Add the general advice for the hint."""
        if self.advice is None and self.hint is not None:
            msgspec.structs.force_setattr(self, "advice", ADVICE[self.hint])

    @property
    def ok(self) -> bool:
        """Whether the run succeeded: its turn completed, the agent exited with 0, and there is no hint (F11)."""
        return self.turn == "completed" and self.status.success and self.hint is None
