"""Find why a run failed, as one word of a closed list, in what the CLI itself reports (F9).

The beginning of the CLI's sentence counts first, then the service's own type of the error, then its status. What the
model or a tool wrote never counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from codex_adapter.agents.claude.stream.lines import Assistant, Result
from codex_adapter.core import stderr_tail
from codex_adapter.hints import Hint

__all__ = ["StderrTail", "hint_of_error", "hint_of_message", "hint_of_result"]

_LONGEST: Final = 8_192

_TYPES: Final[Mapping[str, Hint]] = {
    "authentication_failed": "not_logged_in",
    "authentication_error": "not_logged_in",
    "billing_error": "quota_exceeded",
    "permission_error": "forbidden",
    "not_found_error": "model_unknown",
    "model_not_found": "model_unknown",
    "request_too_large": "input_too_long",
    "rate_limit": "rate_limited",
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "connection_failed": "no_network",
    "max_output_tokens": "answer_incomplete",
    "prompt_too_long": "context_too_long",
}
_STATUSES: Final[Mapping[int, Hint]] = {
    400: "request_rejected",
    401: "not_logged_in",
    402: "quota_exceeded",
    403: "forbidden",
    404: "model_unknown",
    413: "input_too_long",
    429: "rate_limited",
    529: "overloaded",
}
_SENTENCES: Final[Sequence[tuple[str, Hint]]] = (
    (r"Credit balance is too low", "quota_exceeded"),
    (r"(?:Claude (?:AI )?usage limit reached|You've (?:hit|reached) your .{0,40}limit)", "quota_exceeded"),
    (r"Prompt is too long", "context_too_long"),
    (r"(?:Not logged in|Invalid API key|Please run /login|OAuth token (?:revoked|has expired))", "not_logged_in"),
    (r"There's an issue with the selected model", "model_unknown"),
    (r"Request too large", "input_too_long"),
    (r"No conversation found with session ID", "session_unknown"),
    (r"No message found with message\.uuid of", "session_unknown"),
    (r"(?:Error: )?--resume requires a valid session ID", "session_unknown"),
    (r"Sandbox required but unavailable", "sandbox_unavailable"),
    (r"API Error: (?:Repeated 529 Overloaded|Overloaded)", "overloaded"),
    (r"API Error: Claude's response exceeded the \d+ output token maximum", "answer_incomplete"),
    (r"API Error: (?:Claude Code is unable to respond|.{0,80}violate our Usage Policy)", "policy_refused"),
    (r"API Error: (?:Connection error|Connection refused|Can't reach|Unable to connect|fetch failed)", "no_network"),
    (r"API Error: The model has reached its context window limit", "context_too_long"),
    (r"API Error: (?:JSON Parse error|Unexpected token)", "server_error"),
    (r"API Error: Connection lost", "stream_cut"),
    (r"API Error: Request timed out", "no_network"),
)
_STATUS: Final = re.compile(r"(?:Failed to authenticate\. )?API Error: (?:Request rejected \()?([45]\d\d)\b")
_STDERR: Final[Sequence[tuple[str, Hint]]] = (
    (r"error: (?:unknown option|option '.{0,200}' argument .{0,200} is invalid|unknown command)", "flag_unknown"),
    (r"(?:Error: )?--json-schema .{0,200}", "flag_unknown"),
    (r"Error: (?:Invalid MCP configuration|MCP config file not found|Settings file not found)", "configuration_broken"),
    (r"Error: (?:Invalid JSON provided to --settings|.{0,100}is corrupted)", "configuration_broken"),
    (r"Error: sandbox required but unavailable", "sandbox_unavailable"),
    (r"Error: Input must be provided", "request_rejected"),
    (r"Error: .{0,200}(?:too large|exceeds the maximum)", "input_too_long"),
    (r"No conversation found with session ID", "session_unknown"),
)
_SESSION_MISSING: Final = (b"No conversation found with session ID",)
_SUBTYPES: Final[Mapping[str, Hint]] = {
    "error_max_turns": "turn_limit",
    "error_max_budget_usd": "budget_limit",
    "error_max_structured_output_retries": "schema_ignored",
}
_REASONS: Final[Mapping[str | None, Hint]] = {
    "max_turns": "turn_limit",
    "budget_exhausted": "budget_limit",
    "structured_output_retry_exhausted": "schema_ignored",
    "prompt_too_long": "context_too_long",
}


class StderrTail(stderr_tail.StderrTail):
    """The end of the CLI's stderr."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_STDERR, _SESSION_MISSING)


def hint_of_error(type_: str | None, status: int | None, text: str) -> Hint | None:
    """Return the cause of an error of the service: its type, its HTTP status, and the CLI's sentence on it (F9)."""
    sentence = text[:_LONGEST].replace("\u2019", "'")
    for pattern, hint in _SENTENCES:
        if re.match(pattern, sentence):
            return hint
    if type_ is not None and type_ in _TYPES:
        return _TYPES[type_]
    if status is None and (found := _STATUS.match(sentence)):
        status = int(found[1])
    if status is None:
        return None
    return _STATUSES.get(status) or ("server_error" if status >= 500 else None)


def hint_of_message(line: Assistant, text: str) -> Hint | None:
    """Return the cause in a message that the CLI wrote in place of the model (F9)."""
    found = hint_of_error(line.api_error_type or line.error, line.api_error_status, text)
    return found or _hint_of_stop(line.message.stop_reason)


def hint_of_result(line: Result) -> Hint | None:
    """Return the cause of a turn that failed, by an error of the service or by a limit of the run (F9)."""
    type_, status = line.api_error_type, line.api_error_status
    if type_ or status or line.subtype == "success":
        hint = hint_of_error(type_, status, line.result or (line.errors[0] if line.errors else ""))
        if hint is not None:
            return hint
    for error in line.errors[:10]:
        hint = hint_of_error(None, None, error)
        if hint is not None:
            return hint
    return _SUBTYPES.get(line.subtype) or _REASONS.get(line.terminal_reason) or _hint_of_stop(line.stop_reason)


def _hint_of_stop(reason: str | None) -> Hint | None:
    """Return the cause of an error after an answer that the service stopped for this reason."""
    return "policy_refused" if reason == "refusal" else None
