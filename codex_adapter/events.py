"""What a run gives: universal events, their typed facets, and the completion.

An `Event` is bounded and redacted (B, X); its `data` is None or one of the facet structs below, whose constant `schema`
is written by msgspec as their tag.
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
"""What a tool call does, whatever the agent calls the tool (AG6)."""


class TextPart(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.text.v1"):
    """What a text_output belongs to: the item, whether its text replaces or appends, and which piece it is (M4).

    `phase` `delta` appends a fragment; every other phase is a snapshot of the whole text. A text over the bound is
    given in `parts` events, `part` counting from 1.
    """

    item_id: str | None
    item_type: str
    phase: TextPhase
    part: int = 1
    parts: int = 1


class ToolBytes(msgspec.Struct, frozen=True, gc=False):
    """Sizes of what a tool put out, in bytes of UTF-8 (M3)."""

    stdout: int = 0
    stderr: int = 0
    diff: int = 0
    result: int = 0


class PayloadText(msgspec.Struct, frozen=True, gc=False):
    """A masked text of at most 16 KiB; `truncated` when the original was longer (M7)."""

    text: str
    truncated: bool


class ToolInput(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a tool was asked, in the one field that fits its kind (M7)."""

    command: PayloadText | None = None
    changes: PayloadText | None = None
    server: PayloadText | None = None
    tool: PayloadText | None = None
    arguments: PayloadText | None = None
    query: PayloadText | None = None


class ToolOutput(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a tool answered (M7)."""

    aggregated_output: PayloadText | None = None
    result: PayloadText | None = None
    error: PayloadText | None = None


class Tool(msgspec.Struct, frozen=True, gc=False):
    """One tool call as it stands; `kind` is one of `TOOL_KINDS`, `status` the item's own (M3, AG6)."""

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
    """The facet of every tool_call and tool_result; `input` and `output` only with payloads asked for (M3, M7)."""

    tool: Tool
    input: ToolInput | None = None
    output: ToolOutput | None = None


class Session(msgspec.Struct, frozen=True, gc=False):
    """The id by which a later run can resume or fork this one's session (M5)."""

    id: str


class SessionHandle(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="agent_api.session.handle.v1"):
    """Given once per run, on a status event (M5)."""

    session: Session


class TokenUsage(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.usage.v1"):
    """The integers that the CLI gave at a turn's end, by their own names (M6)."""

    usage: dict[str, int]


class PlanItem(msgspec.Struct, frozen=True, gc=False):
    """One step of the agent's plan (M6)."""

    text: str
    completed: bool = False


class Plan(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.plan.v1"):
    """The agent's plan, whole, as of this event (M6)."""

    items: tuple[PlanItem, ...]


class ErrorSource(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.error.v1"):
    """Where the CLI reported an error: a warning item, or an `error` line; neither is terminal (M8)."""

    source: Literal["item", "event"]


class HintNotice(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.hint.v1"):
    """A cause that shows while the run goes on: a word of the list of hints, and what to do about it (F12)."""

    hint: str
    advice: str


class UnknownLine(msgspec.Struct, frozen=True, gc=False, tag_field="schema", tag="codex_adapter.unknown.v1"):
    """A well-formed line whose type nobody knows: the two names, cut and masked, and nothing else of it (T4)."""

    type: str | None
    item_type: str | None


class DroppedReason(msgspec.Struct, frozen=True, gc=False):
    """Why a facet is not there (B4)."""

    reason: Literal["oversize"] = "oversize"


class Dropped(msgspec.Struct, frozen=True, gc=False):
    """Stands in place of a facet over its bound (B4)."""

    dropped: DroppedReason = DroppedReason()


Facet: TypeAlias = (
    TextPart | ToolCall | SessionHandle | TokenUsage | Plan | ErrorSource | HintNotice | UnknownLine | Dropped
)


class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type", tag="event"):
    """One universal event: bounded, redacted, and encodable as UTF-8; encoded it is the wire's record (M0, B6, W1).

    `seq` counts the events of a run from 0, without gaps. `text` is there for text_output only, `message` for error
    always and for status at times (M1).
    """

    seq: int
    agent_kind: str
    kind: EventKind
    channel: str | None = None
    text: str | None = None
    message: str | None = None
    data: Facet | None = None


class ExitStatus(msgspec.Struct, frozen=True, gc=False):
    """How the agent's process ended: an exit `code`, or the name of the `signal` that killed it."""

    code: int | None = None
    signal: str | None = None

    @classmethod
    def from_returncode(cls, returncode: int) -> ExitStatus:
        """From a return code as `subprocess` gives it: negative for a signal."""
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
        """The `{status}` of the canonical texts (X4)."""
        if self.signal is None:
            return f"exit status: {self.code}"
        return f"signal: {self.signal_number} ({self.signal})"


class Completion(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a finished run has to say, known only after its events are final (F1, F2, F3): `usage` is the CLI's as of
    the last turn's end, `run_usage` this run's own (F10), `hint` why it failed (F9), None where they are not known."""

    status: ExitStatus
    final_text: str | None = None
    data: Any = None
    session_id: str | None = None
    turn: TurnOutcome | None = None
    usage: dict[str, int] | None = None
    run_usage: dict[str, int] | None = None
    hint: Hint | None = None

    @property
    def ok(self) -> bool:
        """Return whether the run went well: its turn completed, the agent exited with 0, and there is no hint (F11)."""
        return self.turn == "completed" and self.status.success and self.hint is None

    @property
    def advice(self) -> str | None:
        """Return the sentence that says what to do about the hint, None without one (F9)."""
        return None if self.hint is None else ADVICE[self.hint]
