"""JSON-RPC as MCP speaks it: what we say, and what is heard in a text (U11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

__all__ = ["METHOD_NOT_FOUND", "Asked", "Heard", "Replied", "answer", "decoded", "heard", "notification", "request"]

METHOD_NOT_FOUND: Final = -32601
_ABSENT: Final = msgspec.Raw()
_T = TypeVar("_T")


class Asked(NamedTuple):
    """A request of the server."""

    id: int | str
    method: str


class Replied(NamedTuple):
    """The reply to our request of this number; `refused` is the code of an error, None for a result."""

    number: int
    result: msgspec.Raw
    refused: int | None = None


class _Message(msgspec.Struct):
    """Any message; what it says is not looked into, for it may be long."""

    id: msgspec.Raw = _ABSENT
    method: msgspec.Raw = _ABSENT
    result: msgspec.Raw = _ABSENT
    error: msgspec.Raw = _ABSENT


class _Error(msgspec.Struct):
    code: int = 0


Heard: TypeAlias = Asked | Replied


def request(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    """A request of ours, on one line."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def notification(method: str) -> bytes:
    """A notification of ours, on one line."""
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method})


def answer(asked: Asked) -> bytes:
    """Our answer to a request, on one line: we are there, and can do nothing for a server (U11)."""
    if asked.method == "ping":
        return msgspec.json.encode({"jsonrpc": "2.0", "id": asked.id, "result": {}})
    error = {"code": METHOD_NOT_FOUND, "message": "This client only lists tools"}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": asked.id, "error": error})


def heard(text: bytes) -> Iterator[Heard]:
    """The requests and replies in a text; notifications, and what is no message, are left aside (U11)."""
    for one in _several(text):
        message = decoded(one, _Message)
        if message is None:
            continue
        number = decoded(message.id, int)
        if message.method:
            id_ = number if number is not None else decoded(message.id, str)
            method = decoded(message.method, str)
            if id_ is not None and method is not None:
                yield Asked(id_, method)
        elif number is not None and (message.result or message.error):
            yield Replied(number, message.result, _code(message.error))


def decoded(text: bytes | msgspec.Raw, kind: type[_T]) -> _T | None:
    """What a server said, None where that is something else: no error is left that could quote it."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _code(error: msgspec.Raw) -> int | None:
    if bytes(error) in (b"", b"null"):
        return None
    return (decoded(error, _Error) or _Error()).code


def _several(text: bytes) -> Sequence[bytes | msgspec.Raw]:
    # Most of what is no message is told by its first character, in a tenth of the time.
    match text.lstrip()[:1]:
        case b"{":
            return [text]
        case b"[":  # in revision 2025-03-26
            return decoded(text, list[msgspec.Raw]) or []
    return []
