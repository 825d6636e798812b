"""Define the messages of the protocol: the params and result of each method, and the notifications (J3, J4).

The JSON Schema is generated from these types. They check only the form of messages, not whether a run can start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta, Raw
from typing_extensions import override

from codex_adapter import Event

__all__ = [
    "METHODS",
    "PROTOCOL_VERSION",
    "Affected",
    "CancelParams",
    "CreditParams",
    "EventsParams",
    "EventsResult",
    "InitializeParams",
    "InitializeResult",
    "Limits",
    "ListResult",
    "LiveRun",
    "Method",
    "Nothing",
    "RunCompleted",
    "RunEvent",
    "RunParams",
    "ServerInfo",
    "ShutdownParams",
    "StartParams",
    "StartResult",
    "Text",
    "WaitsFor",
]

PROTOCOL_VERSION: Final = "1.0"

_RUN_ID_WORDS: Final = "1 to 128 letters, digits, '.', '_' or '-', the first a letter or a digit"
RunId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$(?!\n)", description=_RUN_ID_WORDS)]
NewRunId = Annotated[RunId | None, Meta(description=f"{_RUN_ID_WORDS}; or absent")]
_MOST: Final = 2**53 - 1
Count = Annotated[int, Meta(ge=0, le=_MOST, description="a whole number, 0 or more")]
Grant = Annotated[int, Meta(ge=1, le=_MOST, description="a whole number, 1 or more")]
Text = Annotated[str, Meta(description="a string")]
Object = Annotated[dict[str, Any], Meta(description="an object")]
WaitsFor = Literal["slot", "start", "agent", "supervisor", "credit", "end"]
"""What a live run waits for: a slot, the start of its agent, output of its agent, the reader of the daemon's stdout,
`run/credit`, or the end of its processes (J3)."""


class _Params(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The named parameters of a method."""


class Nothing(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No params, or an empty result."""


class InitializeParams(_Params, frozen=True, kw_only=True):
    """The supervisor and its version of the protocol; the only params that may have unknown members."""

    protocol_version: Annotated[Literal["1.0"], Meta(description='"1.0", the version of this daemon')]
    """The version of the protocol that the supervisor speaks."""
    client_info: Object = {}
    """Anything about the supervisor. The daemon ignores it."""


class StartParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run to start."""

    run_id: NewRunId = None
    """The id of the new run: 1 to 128 letters, digits, `.`, `_` and `-`. Without it, the daemon chooses one."""
    agent_kind: Text
    """The kind of the agent."""
    request: Object
    """The request of the run."""
    credit: Annotated[Count | None, Meta(description="a whole number, 0 or more, or absent")] = None
    """The number of events that may be sent before `run/credit`. Without it, there is no limit."""

    @override
    def __repr__(self) -> str:
        """Return a text without content, because any field may be secret (X1)."""
        return "StartParams(...)"


class RunParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run to act on."""

    run_id: Text
    """The id of the run."""


class CancelParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run to cancel. With `kill`, its agent is not asked first."""

    run_id: Text
    """The id of the run."""
    kill: Annotated[bool, Meta(description="true or false")] = False
    """Whether the processes are killed at once. Otherwise the agent is asked to end first."""


class CreditParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The number of further events of a run that may be sent."""

    run_id: Text
    """The id of the run."""
    events: Grant
    """The number of further events that may be sent."""


class EventsParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run whose events are read, and the number of the first event."""

    run_id: RunId
    """The id of the run."""
    from_seq: Count = 0
    """The number of the first event to return."""


class ShutdownParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the live runs are finished or cancelled."""

    mode: Annotated[Literal["drain", "cancel"], Meta(description='"drain" or "cancel"')] = "drain"
    """`drain` lets the live runs end by themselves; `cancel` cancels them."""


class _Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a method."""


class ServerInfo(_Result, frozen=True, kw_only=True):
    """The name and the version of the daemon."""

    name: str
    """The name of the program."""
    version: str
    """The version of this package."""


class Limits(_Result, frozen=True, kw_only=True):
    """The limits of live agents, bytes of an incoming line, requests of a batch, and bytes of an event's text.

    `queue` is whether further runs wait.
    """

    max_runs: int
    """The limit of agents that run at the same time."""
    queue: bool
    """Whether further runs wait. Otherwise they are refused."""
    max_message_bytes: int
    """The limit of one line to the daemon, in bytes."""
    max_batch: int
    """The limit of requests in one batch."""
    max_text_bytes: int
    """The limit of the text of one event, in bytes of UTF-8."""


class InitializeResult(_Result, frozen=True, kw_only=True):
    """The capabilities of the daemon."""

    protocol_version: str = PROTOCOL_VERSION
    """The version of the protocol that the daemon speaks."""
    server_info: ServerInfo
    """The program behind the daemon."""
    capabilities: Mapping[str, Sequence[str]]
    """The capabilities of each served agent, by its kind."""
    limits: Limits
    """The limits of the daemon."""
    containment: str | None
    """The strongest containment level of this machine, or null."""
    journal: bool
    """Whether the daemon keeps a journal."""


class StartResult(_Result, frozen=True, kw_only=True):
    """The accepted run."""

    run_id: str
    """The id of the run."""


class Affected(_Result, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the run is live. The member is omitted if it is."""

    known: bool = True
    """False if there is no such live run. The member is absent otherwise."""


class LiveRun(_Result, frozen=True, kw_only=True):
    """A live run, and what it waits for."""

    run_id: str
    """The id of the run."""
    agent_kind: str
    """The kind of its agent."""
    age_seconds: float
    """The seconds since the daemon accepted the run."""
    events: int
    """The number of events that were sent."""
    waits_for: WaitsFor
    """What the run waits for now."""
    detached: bool
    """Whether no further events of the run are sent."""


class ListResult(_Result, frozen=True, kw_only=True):
    """The live runs, the oldest first."""

    runs: Sequence[LiveRun]
    """The live runs, the oldest first."""


class EventsResult(_Result, frozen=True, kw_only=True, omit_defaults=True):
    """Records of a run from its journal, and its completion if the records reach it (J13)."""

    run_id: str
    """The id of the run."""
    events: Sequence[Raw]
    """Event records, the oldest first."""
    next_seq: int
    """The `fromSeq` of the next call."""
    more: bool
    """Whether the journal has further events now."""
    live: bool
    """Whether the run has not ended."""
    completion: Raw | None = None
    """The completion record, if the events of this page are the last ones."""


class _EventParams(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    run_id: str
    seq: int
    event: Event


class RunEvent(msgspec.Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0"):
    """One event of a run (J4)."""

    method: Literal["run/event"]
    params: _EventParams

    @classmethod
    def of(cls, run_id: str, event: Event) -> RunEvent:
        """Return the notification of an event."""
        return cls("run/event", _EventParams(run_id, event.seq, event))


class _CompletedParams(msgspec.Struct, frozen=True, rename="camel"):
    run_id: str
    seq: int
    completion: Raw


class RunCompleted(msgspec.Struct, frozen=True, tag_field="jsonrpc", tag="2.0"):
    """The completion record of a run, the last message about this run (J4)."""

    method: Literal["run/completed"]
    params: _CompletedParams

    @classmethod
    def of(cls, run_id: str, seq: int, record: bytes) -> RunCompleted:
        """Return the notification of a completion record, which is one line."""
        return cls("run/completed", _CompletedParams(run_id, seq, Raw(record.rstrip(b"\n"))))


class Method(NamedTuple):
    """The params and the result of a method. The result is None for a notification, which has no answer."""

    params: type[msgspec.Struct]
    result: type[msgspec.Struct] | None


METHODS: Final[Mapping[str, Method]] = {
    "initialize": Method(InitializeParams, InitializeResult),
    "run/start": Method(StartParams, StartResult),
    "run/cancel": Method(CancelParams, Affected),
    "run/detach": Method(RunParams, Affected),
    "run/credit": Method(CreditParams, Affected),
    "run/list": Method(Nothing, ListResult),
    "run/events": Method(EventsParams, EventsResult),
    "shutdown": Method(ShutdownParams, Nothing),
    "exit": Method(Nothing, None),
}
