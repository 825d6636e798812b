"""Encode a request as JSON for a daemon, or raise the error that it would raise in this process (J15)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Raw

from codex_adapter.errors import BackendError, InvalidRequestError
from codex_adapter.request import RunRequest

__all__ = ["encode_request"]

_DEEPER: Final = 64
"""Additional levels of nesting around the request, in a message and in a program, that a daemon must accept."""
_AROUND_REQUEST: Final = 1024
"""The limit in bytes of the message without the request."""


async def encode_request(request: RunRequest, limit: int, agent_kind: str) -> Raw:
    """Return the JSON object of a request, for a message of at most `limit` bytes.

    The daemon checks all values that JSON can express, in the order of the rules. For other values, raise the
    `InvalidRequestError` or `UnsupportedCapabilityError` of the agent's check. Bytes count as other values, although
    msgspec can encode them as text. (J15, Q1)
    """
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    for name in ("env", "extensions", "labels"):
        if isinstance(fields[name], Mapping):
            fields[name] = dict(fields[name])
    text = _encode(fields)
    if text is None or msgspec.json.decode(text) != fields:
        await _check(request, agent_kind)
    if text is None:
        raise InvalidRequestError("the request must have only JSON values and text in UTF-8")
    if len(text) > limit - _AROUND_REQUEST:
        raise InvalidRequestError(f"the request must have fewer than {limit - _AROUND_REQUEST} bytes as JSON")
    return Raw(text)


async def _check(request: RunRequest, agent_kind: str) -> None:
    from codex_adapter.runs import check_request  # noqa: PLC0415 - imports many modules, only for wrong requests

    # The check uses defaults: the daemon may have another program and other directories.
    with suppress(BackendError):
        await check_request(request, agent=agent_kind)


def _encode(fields: Mapping[str, object]) -> bytes | None:
    try:
        text = msgspec.json.encode(fields)
        msgspec.json.decode(b"[" * _DEEPER + text + b"]" * _DEEPER, type=Raw)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return None
    return text
