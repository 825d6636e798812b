"""Parse lines of JSON-RPC 2.0 into calls, and build answers. Do no I/O and know no method. (J1, J5, J6, J7)"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType
from typing_extensions import override

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "MOST_IN_A_BATCH",
    "NOT_INITIALIZED",
    "PARSE_ERROR",
    "RUN_REFUSED",
    "Answer",
    "Call",
    "Error",
    "Fault",
    "Message",
    "Pending",
    "read_message",
    "too_long",
]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_INITIALIZED: Final = -32002
RUN_REFUSED: Final = -32010

MOST_IN_A_BATCH: Final = 100
"""The limit of requests in a batch: the answers are sent together, and each may be large."""
_SURROGATE: Final = re.compile(
    rb"(?<!\\)((?:\\\\)*)\\u(?:([dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|[dD][89a-fA-F][\da-fA-F]{2})"
)
"""The escape of a surrogate pair, which is the second group, or of one half of a pair."""
_REPLACEMENT: Final = rb"\ufffd"
_NULL: Final = Raw(b"null")
_ABSENT: Final = Raw(b"")


class Error(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request was not executed (J5)."""

    code: int
    """The number of the error: those of JSON-RPC 2.0, -32002 before `initialize`, and -32010 for a refused run."""
    message: str
    """The reason, for a person."""
    data: Mapping[str, str | bool] | None = None
    """Facts about a refused run or turn, for a program: `kind`, `failure`, `hint`, `advice` and others."""


class Fault(Exception):
    """The error of a request that cannot be executed. The message quotes no text of the request. (J5, X3)"""

    def __init__(self, code: int, message: str, data: Mapping[str, str | bool] | None = None) -> None:
        super().__init__(code, message)
        self.error = Error(code, message, data)

    @override
    def __str__(self) -> str:
        return self.error.message


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to one request: its unchanged id, and a result or an error (J6)."""

    jsonrpc: str = msgspec.field(default_factory=lambda: "2.0")  # a plain default would be omitted
    id: Raw
    result: Any = UNSET
    error: Error | UnsetType = UNSET


class Call(msgspec.Struct, frozen=True):
    """One request, or one notification if `id` is None. `fault` is set if it cannot be executed."""

    id: Raw | None
    method: str = ""
    params: Raw = _ABSENT
    fault: Fault | None = None

    def answer(self, result: Any) -> Answer:
        """Return the answer to this request. Do not send an answer to a notification."""
        if isinstance(result, Fault):
            return Answer(id=self.id or _NULL, error=result.error)
        return Answer(id=self.id or _NULL, result=result)


class Pending(NamedTuple):
    """The rest of a long call. Further calls are executed while `finish` waits for the result."""

    finish: Callable[[], Awaitable[object]]


class Message(msgspec.Struct, frozen=True):
    """The calls of one line: one call, or those of a `batch`."""

    calls: Sequence[Call]
    batch: bool = False


class _Envelope(msgspec.Struct, frozen=True):
    """The members of a request as raw JSON."""

    jsonrpc: Raw = _ABSENT
    id: Raw = _ABSENT
    method: Raw = _ABSENT
    params: Raw = _ABSENT


_envelope = msgspec.json.Decoder(_Envelope)
# With a list, a complete line would be decoded before its members could be counted.
_batch = msgspec.json.Decoder(
    msgspec.defstruct(
        "_Batch",
        [(f"member_{number}", Raw, _ABSENT) for number in range(MOST_IN_A_BATCH)],
        array_like=True,
        forbid_unknown_fields=True,
    )
)
_version = msgspec.json.Decoder(str)


def read_message(line: bytes | bytearray) -> Message:
    """Return the calls of one line. A value that is not a request becomes a call with the fault."""
    try:
        line.decode()
        if line.lstrip()[:1] != b"[":
            return Message([_read_call(line)])
        members = [member for member in msgspec.structs.astuple(_batch.decode(line)) if bytes(member)]
    except msgspec.ValidationError:
        members = []
    except (UnicodeDecodeError, msgspec.MsgspecError, RecursionError):
        if (id_ := _id_of_halved(line)) is not None:
            return Message(
                [_wrong(PARSE_ERROR, "a string has half of a surrogate pair. Cut texts between characters.", id_)]
            )
        return Message([_wrong(PARSE_ERROR, "this line is not JSON in UTF-8, or is nested too deeply")])
    if not members:
        return Message([_wrong(INVALID_REQUEST, f"a batch must have 1 to {MOST_IN_A_BATCH} requests")])
    return Message([_read_call(member) for member in members], batch=True)


def too_long(limit: int) -> Message:
    """Return the message that replaces a line over the limit (J7)."""
    return Message([_wrong(INVALID_REQUEST, f"a line must have at most {limit} bytes")])


def _read_call(text: bytes | bytearray | Raw) -> Call:
    """Return the call in a JSON text. Raise DecodeError if the text is not JSON."""
    try:
        envelope = _envelope.decode(text)
    except msgspec.ValidationError:
        msgspec.json.decode(text, type=Raw)
        return _wrong(INVALID_REQUEST, "a request must be an object")
    written = bytes(envelope.id)
    if written[:1] in (b"{", b"[", b"t", b"f"):
        return _wrong(INVALID_REQUEST, "id must be a string, a number or null")
    id_ = envelope.id.copy() if written else None  # a copy, so that the line is not kept in memory
    if _text(envelope.jsonrpc) != "2.0":
        return _wrong(INVALID_REQUEST, 'jsonrpc must be "2.0"', id_)
    method = _text(envelope.method)
    if method is None:
        return _wrong(INVALID_REQUEST, "method must be a string", id_)
    if bytes(envelope.params)[:1] not in (b"", b"{", b"["):
        return _wrong(INVALID_REQUEST, "params must be an object", id_)
    return Call(id_, method, envelope.params)


def _id_of_halved(line: bytes | bytearray) -> Raw | None:
    """Return the id of a request whose only fault is half of a surrogate pair, or None (J5).

    Such a text was cut in UTF-16. With the id, its sender receives an answer and does not wait forever.
    """
    whole = _SURROGATE.sub(lambda found: found[0] if found[2] else found[1] + _REPLACEMENT, line)
    try:
        line.decode()
        id_ = None if whole == line else _read_call(whole).id
    except (UnicodeDecodeError, msgspec.MsgspecError, RecursionError):
        return None
    return None if id_ is None or _REPLACEMENT in bytes(id_) else id_


def _text(value: Raw) -> str | None:
    try:
        return _version.decode(value)
    except msgspec.MsgspecError:
        return None


def _wrong(code: int, message: str, id_: Raw | None = None) -> Call:
    # Answer even without an id, because the line may not be a notification.
    return Call(id_ or _NULL, fault=Fault(code, message))
