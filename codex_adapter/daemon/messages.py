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
    client_info: Object = {}


class StartParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run to start."""

    run_id: NewRunId = None
    agent_kind: Text
    request: Object
    credit: Annotated[Count | None, Meta(description="a whole number, 0 or more, or absent")] = None

    @override
    def __repr__(self) -> str:
        """Return a text without content, because any field may be secret (X1)."""
        return "StartParams(...)"


class RunParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run to act on."""

    run_id: Text


class CancelParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run to cancel. With `kill`, its agent is not asked first."""

    run_id: Text
    kill: Annotated[bool, Meta(description="true or false")] = False


class CreditParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The number of further events of a run that may be sent."""

    run_id: Text
    events: Grant


class EventsParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run whose events are read, and the number of the first event."""

    run_id: RunId
    from_seq: Count = 0


class ShutdownParams(_Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the live runs are finished or cancelled."""

    mode: Annotated[Literal["drain", "cancel"], Meta(description='"drain" or "cancel"')] = "drain"


class _Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a method."""


class ServerInfo(_Result, frozen=True, kw_only=True):
    """The name and the version of the daemon."""

    name: str
    version: str


class Limits(_Result, frozen=True, kw_only=True):
    """The limits of live agents, bytes of an incoming line, requests of a batch, and bytes of an event's text.

    `queue` is whether further runs wait.
    """

    max_runs: int
    queue: bool
    max_message_bytes: int
    max_batch: int
    max_text_bytes: int


class InitializeResult(_Result, frozen=True, kw_only=True):
    """The capabilities of the daemon."""

    protocol_version: str = PROTOCOL_VERSION
    server_info: ServerInfo
    capabilities: Mapping[str, Sequence[str]]
    limits: Limits
    containment: str | None
    journal: bool


class StartResult(_Result, frozen=True, kw_only=True):
    """The accepted run."""

    run_id: str


class Affected(_Result, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the run is live. The member is omitted if it is."""

    known: bool = True


class LiveRun(_Result, frozen=True, kw_only=True):
    """A live run, and what it waits for."""

    run_id: str
    agent_kind: str
    age_seconds: float
    events: int
    waits_for: WaitsFor
    detached: bool


class ListResult(_Result, frozen=True, kw_only=True):
    """The live runs, the oldest first."""

    runs: Sequence[LiveRun]


class EventsResult(_Result, frozen=True, kw_only=True, omit_defaults=True):
    """Records of a run from its journal, and its completion if the records reach it (J13)."""

    run_id: str
    events: Sequence[Raw]
    next_seq: int
    more: bool
    live: bool
    completion: Raw | None = None


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
