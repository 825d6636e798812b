"""Encode a request as the JSON that a daemon reads, or raise the error that it has in this process (J15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw

from codex_adapter.errors import InvalidRequestError
from codex_adapter.request import RunRequest

__all__ = ["RequestCheck", "check_nothing", "encode_request"]

RequestCheck: TypeAlias = Callable[[RunRequest], object]
"""Raises the `InvalidRequestError` or `UnsupportedCapabilityError` of a request that the agent cannot execute."""
_DEEPER: Final = 64
"""Levels of nesting around the request, in a message and in a program, at which a daemon still has to read it."""
_AROUND_REQUEST: Final = 1024
"""Bytes, at most, of what is around a request in its message."""


def check_nothing(_request: RunRequest) -> None:
    """Accept every request."""


def encode_request(request: RunRequest, limit: int, check: RequestCheck) -> Raw:
    """Return the JSON object of a request, for a message of at most `limit` bytes.

    What JSON can express is not checked here but by the daemon, which checks in the order of the rules. Raise what
    `check` raises, or else `InvalidRequestError`, for what JSON cannot express; bytes are among it, though JSON has a
    text for them. (J15, Q1)
    """
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    for name in ("env", "extensions", "labels"):
        if isinstance(fields[name], Mapping):
            fields[name] = dict(fields[name])
    text = _encode(fields)
    if text is None or msgspec.json.decode(text) != fields:
        check(request)
    if text is None:
        raise InvalidRequestError("the request must hold nothing but JSON values and text in UTF-8")
    if len(text) > limit - _AROUND_REQUEST:
        raise InvalidRequestError(f"the request must have less than {limit - _AROUND_REQUEST} bytes as JSON")
    return Raw(text)


def _encode(fields: Mapping[str, object]) -> bytes | None:
    try:
        text = msgspec.json.encode(fields)
        msgspec.json.decode(b"[" * _DEEPER + text + b"]" * _DEEPER, type=Raw)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return None
    return text
