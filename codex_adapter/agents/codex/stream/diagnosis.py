"""Derive from the CLI's messages why a run failed: a hint from a closed list (F9).

There are two sources: the errors in the stream, and the end of stderr. A phrase counts only at the beginning of a
message, because the rest can quote any text. Output of the model or of tools never counts. The one exception is the
message of the CLI's own sandbox as the output of each command. No text of the CLI leaves this module. (F12)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from codex_adapter.agents.codex.stream.sandbox_failures import was_started
from codex_adapter.core import stderr_tail
from codex_adapter.core.sandbox_watch import SandboxWatch
from codex_adapter.events import ExitStatus, TurnOutcome
from codex_adapter.hints import Hint

__all__ = ["Diagnosis", "StderrTail", "hint_of_error"]

_LONGEST: Final = 8_192
"""Characters of a message that are examined."""

_WAITING: Final = "Reconnecting... waiting for network"
_NOTICE: Final = re.compile(r"Re-?connecting\.\.\. \d{1,9}/\d{1,9} \(|stream error: ")
"""The text before the reason of a retry; the second form is used up to 0.47."""
_CUT: Final = "stream disconnected before completion: "
_STATUS: Final = re.compile(r"(?:unexpected status|exceeded retry limit, last status:) ([45]\d\d)\b")
_NO_MODEL: Final = re.compile(r"The (?:model `[^`]{1,200}` does not exist|'[^']{1,200}' model is not supported when )")
_BEFORE_A_REASON: Final = re.compile(r"(?:Transport|IO) error: (?:network error: )?")

_CODES: Final[Mapping[str, Hint]] = {
    "context_length_exceeded": "context_too_long",
    "cyber_policy": "policy_refused",
    "invalid_prompt": "policy_refused",
    "model_not_found": "model_unknown",
}
"""Hints for the service's errors that the CLI prints as JSON: those with status 400, before 0.66 with any status."""
_STATUSES: Final[Mapping[str, Hint]] = {
    "400": "request_rejected",
    "401": "not_logged_in",
    "402": "quota_exceeded",
    "403": "forbidden",
    "404": "endpoint_unknown",
    "413": "input_too_long",
    "429": "rate_limited",
    "503": "overloaded",
}
_MESSAGES: Final[Sequence[tuple[str, Hint]]] = (
    ("Missing environment variable: ", "not_logged_in"),
    ("Your access token could not be refreshed", "not_logged_in"),
    ("Quota exceeded. ", "quota_exceeded"),  # since 0.98, over HTTP since 0.155
    ("You exceeded your current quota", "quota_exceeded"),
    ("You've hit your usage limit", "quota_exceeded"),
    ("To use Codex with your ChatGPT plan", "quota_exceeded"),
    ("rate limit exceeded: ", "rate_limited"),  # since 0.155
    ("Rate limit reached for ", "rate_limited"),
    ("Selected model is at capacity", "overloaded"),  # since 0.116
    ("Our servers are currently overloaded", "overloaded"),
    ("We're currently experiencing high demand", "server_error"),
    ("Codex ran out of room in the model's context window", "context_too_long"),
    ("Your input exceeds the context window", "context_too_long"),
    ("Invalid prompt: ", "policy_refused"),
    ("Incomplete response returned, reason: content_filter", "policy_refused"),  # since 0.116
    ("Incomplete response returned", "answer_incomplete"),  # since 0.116
    ("Connection failed: builder error", "configuration_broken"),  # a base_url that is not a URL
    ("builder error", "configuration_broken"),
    ("Connection failed: ", "no_network"),
    ("error sending request", "no_network"),
    ("failed to lookup address", "no_network"),
    (_CUT, "stream_cut"),
)
_SERVER_NOT_STARTED: Final = re.compile(r"MCP client for `[^`]{1,200}` failed to start")  # up to 0.58
_STDERR: Final[Sequence[tuple[str, Hint]]] = (
    (r"Error: .{0,200}\bInput exceeds the maximum length of ", "input_too_long"),
    (r"Error: .{0,200}\brequired MCP servers failed to initialize", "mcp_server_failed"),
    (r"Error loading config\.toml\b", "configuration_broken"),
    (r"Error: (?:TOML parse error at line|invalid type: |unknown variant )", "configuration_broken"),
    (r"Error: (?:Model provider `|config profile `|approval_policy = )", "configuration_broken"),
    (r"Not inside a trusted directory and ", "not_a_git_repository"),
    (r"error: (?:unexpected argument|unrecognized subcommand|invalid value) '", "flag_unknown"),
)
_USAGE_STATUS: Final = 2
"""The exit status for a command line that the CLI refuses. It is 1 for the other errors that are only on stderr."""

# Messages of releases since 0.120 for an unknown session. The second is for a fork of an id that is not a UUID.
_SESSION_MISSING: Final = (b"no rollout found for thread id", b"Session not found:")
# The sandbox would execute these programs. Without them no command starts, and no item reports a command. (F12)
_NO_SANDBOX: Final = b"Refusing to create helper binaries under temporary dir"


class Diagnosis:
    """The cause of a failure in the stream of a run: the last error, unless the agent continued after it.

    `hint` is the cause of this error. `sandbox` knows whether the sandbox starts commands. No text is kept.
    """

    __slots__ = ("_lasting", "hint", "noted", "sandbox")

    def __init__(self) -> None:
        self.hint: Hint | None = None
        self.noted = False
        """Whether the last known event is an error."""
        self.sandbox = SandboxWatch()
        self._lasting: Hint | None = None

    def command_ended(self, command: str, output: str, exit_code: int) -> bool:
        """Record the end of a command. Return True for the first one, if the sandbox did not start it. (F12)"""
        return self.sandbox.command_ended(was_started(command, output, exit_code))

    def note(self, error: object) -> None:
        """Record the message of an `error` line, or the `error` of a failed turn."""
        message = error.get("message") if isinstance(error, dict) else error
        self.noted = True
        self.hint = hint_of_error(message) if isinstance(message, str) else None
        if self.hint == "mcp_server_failed":
            self._lasting = self.hint

    def recover(self) -> None:
        """Drop the hint: the agent continued after the error."""
        self.noted = False
        self.hint = None

    def explain(self, status: ExitStatus, turn: TurnOutcome | None, stderr: Hint | None) -> Hint | None:
        """Return the hint of a run whose agent exited with `status`. `stderr` is the hint from its stderr. (F9)

        Before a turn has started, the CLI reports a fatal error on stderr, afterwards in the stream.
        """
        if turn == "completed":
            return (self._lasting if status.code else None) or self.hint_of_sandbox(stderr)
        if self.hint is None and turn is None and status.code == (_USAGE_STATUS if stderr == "flag_unknown" else 1):
            return stderr
        return self.hint or self.hint_of_sandbox(stderr)

    def hint_of_sandbox(self, stderr: Hint | None) -> Hint | None:
        """Return the hint of a run if the sandbox started none of its commands, else None (F12)."""
        return stderr if self.sandbox.works is None and stderr == "sandbox_unavailable" else self.sandbox.hint


class StderrTail(stderr_tail.StderrTail):
    """The end of the CLI's stderr."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_STDERR, _SESSION_MISSING, {_NO_SANDBOX: "sandbox_unavailable"})


def hint_of_error(message: str) -> Hint | None:
    """Return the cause that a message of the CLI reports, None if the message is unknown (F9).

    Take time linear in the length of the message. Never raise.
    """
    text = message[:_LONGEST].replace("\u2019", "'")
    if text.startswith(_WAITING):
        return "no_network"
    if (notice := _NOTICE.match(text)) is not None:
        text = text[notice.end() :]
    if (status := _STATUS.match(text)) is not None:
        number = status[1]
        return _hint_of_body(text) or _STATUSES.get(number) or ("server_error" if number[0] == "5" else None)
    if text.startswith("{"):
        return _hint_of_body(text) or "request_rejected"
    return _hint_of_words(text)


def _hint_of_words(text: str) -> Hint | None:
    reason = text.removeprefix(_CUT)
    cause = _BEFORE_A_REASON.match(reason)
    for candidate in (reason if cause is None else reason[cause.end() :], text):
        if _NO_MODEL.match(candidate):
            return "model_unknown"
        if _SERVER_NOT_STARTED.match(candidate):
            return "mcp_server_failed"
        for phrase, hint in _MESSAGES:
            if candidate.startswith(phrase):
                return hint
    return None


def _hint_of_body(text: str) -> Hint | None:
    """Return the cause in the service's JSON at the end of a message, or None."""
    try:
        body: dict[str, Any] = msgspec.json.decode(text[text.find("{") : text.rfind("}") + 1])
    except (msgspec.MsgspecError, RecursionError, ValueError):
        # The text is not JSON, or not the JSON of a service: both are unknown.
        return _hint_of_words(text.partition(": ")[2])
    error = body.get("error")
    if not isinstance(error, dict):
        return _hint_of_words(detail) if isinstance(detail := body.get("detail"), str) else None
    message = error.get("message")
    code = error.get("code")
    known = _CODES.get(code) if isinstance(code, str) else None
    return known or (_hint_of_words(message) if isinstance(message, str) else None)
