"""Find why a run failed, as one word of a closed list, in what the CLI itself reports (F9).

An error message of the CLI begins with the HTTP status of the service. The service's own error follows, as JSON or as
its message alone. What the model or a tool wrote never counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from codex_adapter.core import stderr_tail
from codex_adapter.hints import Hint

__all__ = ["StderrTail", "hint_of_error", "status_of_error"]

_LONGEST: Final = 8_192

_STATUSES: Final[Mapping[int, Hint]] = {
    400: "request_rejected",
    401: "not_logged_in",
    402: "quota_exceeded",
    403: "forbidden",
    404: "endpoint_unknown",
    413: "input_too_long",
    422: "request_rejected",
    429: "rate_limited",
    503: "overloaded",
    529: "overloaded",
}
_CODES: Final[Mapping[str, Hint]] = {
    "authentication_error": "not_logged_in",
    "billing_error": "quota_exceeded",
    "context_length_exceeded": "context_too_long",
    "insufficient_quota": "quota_exceeded",
    "invalid_api_key": "not_logged_in",
    "model_not_found": "model_unknown",
    "overloaded_error": "overloaded",
    "permission_error": "forbidden",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "request_too_large": "input_too_long",
    "server_is_overloaded": "overloaded",
    "usage_limit_reached": "quota_exceeded",
    "usage_not_included": "quota_exceeded",
}
_STATUS: Final = re.compile(r"(?:[\w. -]{1,64} API error \()?([45]\d\d)\b\)?:?\s*")
_CODE: Final = re.compile(r"([a-z_]{1,64}): ")
_SENTENCES: Final[Sequence[tuple[str, Hint]]] = (
    (r"(?:This model's maximum context length|.{0,40}prompt is too long|.{0,80}context window)", "context_too_long"),
    (r"The model `.{0,200}` does not exist", "model_unknown"),
    (r"(?:You exceeded your current quota|You have hit your .{0,40}limit)", "quota_exceeded"),
    (r"(?:Connection error|fetch failed|Request timed out|getaddrinfo|connect E)", "no_network"),
    (r"(?:terminated|Stream ended without|.{0,80}stream ended before|.{0,80}socket hang up)", "stream_cut"),
    (r"The server had an error|server_error: ", "server_error"),
    (r"Provider finish_reason: content_filter", "policy_refused"),
    (r"No API key (?:found )?for", "not_logged_in"),
)
_STDERR: Final[Sequence[tuple[str, Hint]]] = (
    (r"No API key found|No models available", "not_logged_in"),
    (r"Error: (?:Unknown option|Invalid (?:value|thinking level))", "flag_unknown"),
    (r"Error: (?:Unknown provider|No models)", "configuration_broken"),
    (r"Error: Model .{0,200} (?:not found|is ambiguous)|Error: .{0,40}[Aa]mbiguous", "model_unknown"),
    (r"No session found matching|Session found in different project", "session_unknown"),
    (r"SyntaxError: The requested module|node: bad option|Error: .{0,40}requires Node", "cli_not_executable"),
)
_SESSION_MISSING: Final = (b"No session found matching '", b"Session found in different project: ")


class _ServiceError(msgspec.Struct):
    message: str = ""
    type: str | None = None
    code: str | int | None = None
    error: _ServiceError | None = None


_decode_error = msgspec.json.Decoder(_ServiceError).decode


class StderrTail(stderr_tail.StderrTail):
    """The end of the CLI's stderr."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_STDERR, _SESSION_MISSING)


def status_of_error(text: str) -> int | None:
    """Return the HTTP status that an error message begins with, or None."""
    found = _STATUS.match(text[:_LONGEST])
    return None if found is None else int(found[1])


def hint_of_error(text: str) -> Hint | None:
    """Return the cause of an error message: the service's own type, its sentence, and the HTTP status (F9)."""
    text = text[:_LONGEST]
    status = _STATUS.match(text)
    rest = text if status is None else text[status.end() :]
    names, sentence = _read_service_error(rest)
    if status is None and (code := _CODE.match(text)):
        names = (code[1],)
    for name in names:
        if (hint := _CODES.get(name)) is not None:
            return hint
    if "not_found_error" in names and sentence.startswith("model: "):
        return "model_unknown"  # the Messages API has one type for an unknown model and an unknown address
    for pattern, hint in _SENTENCES:
        if re.match(pattern, sentence):
            return hint
    if status is None:
        return None
    number = int(status[1])
    return _STATUSES.get(number) or ("server_error" if number >= 500 else None)


def _read_service_error(text: str) -> tuple[tuple[str, ...], str]:
    """Return the code and the type of a service's error, if it is JSON, and its message."""
    try:
        error = _decode_error(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return (), text
    error = error.error or error
    return (str(error.code), str(error.type)), error.message
