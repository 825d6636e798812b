"""A request as the JSON that a daemon reads, or the error that it has in this process (J15, Q)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Raw

from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.validation import check_request
from codex_adapter.errors import InvalidRequestError
from codex_adapter.request import RunRequest

__all__ = ["request_on_the_wire"]

_DEEPER: Final = 64
"""A daemon must be able to read it from deeper within a message, and within a program."""
_AROUND_REQUEST: Final = 1024
"""Bytes, at most, of what is around a request in its message."""


def request_on_the_wire(request: RunRequest, limit: int) -> Raw:
    """The JSON object of a request, for a message of at most `limit` bytes.

    What JSON can say is left for the daemon to check, in the order of the rules. Raises `InvalidRequestError` or
    `UnsupportedCapabilityError` for what it cannot say: bytes are no text, though JSON has a text for them.
    """
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    for name in ("env", "extensions", "labels"):
        if isinstance(fields[name], Mapping):
            fields[name] = dict(fields[name])
    text = _encoded(fields)
    if text is None or not _says(text, fields):
        check_request(request, CodexConfig(), _AnyFiles())
    if text is None:
        raise InvalidRequestError("the request must hold nothing but JSON values and text in UTF-8")
    if len(text) > limit - _AROUND_REQUEST:
        raise InvalidRequestError(f"the request must have less than {limit - _AROUND_REQUEST} bytes as JSON")
    return Raw(text)


def _encoded(fields: Mapping[str, object]) -> bytes | None:
    try:
        text = msgspec.json.encode(fields)
        msgspec.json.decode(b"[" * _DEEPER + text + b"]" * _DEEPER, type=Raw)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return None
    return text


def _says(text: bytes, fields: Mapping[str, object]) -> bool:
    return bool(msgspec.json.decode(text) == fields)


class _AnyFiles:
    """A file system of which nothing is known here: only the daemon sees its own."""

    cwd = "/"

    def is_dir(self, _path: str) -> bool:
        return True

    def is_file(self, _path: str) -> bool:
        return True
