"""Why a run failed, in one word of a closed list, told by the CLI's own words; none of these is passed on (F9).

Two channels are looked at: the errors that the CLI prints as such, and the end of its stderr. Phrases count only where
the CLI itself begins a message with them, since the rest of a message may quote anybody. What the model or a tool said
never counts, but where the output of every command is the complaint of the CLI's own sandbox (F12).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from codex_adapter.agents.codex.stream.sandbox_failures import was_started
from codex_adapter.events import ExitStatus, TurnOutcome
from codex_adapter.hints import Hint

__all__ = ["Diagnosis", "StderrTail", "hint_of_error", "hint_of_stderr"]

_LONGEST: Final = 8_192
"""Characters of a message that are looked at."""
_TAIL: Final = 16_384
"""Bytes of stderr that are looked at: the CLI's last words, and a backtrace after them."""

_WAITING: Final = "Reconnecting... waiting for network"
_NOTICE: Final = re.compile(r"Re-?connecting\.\.\. \d{1,9}/\d{1,9} \(|stream error: ")
"""What stands before a reason when it is tried again; the second up to 0.47."""
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
"""Of the service's own errors, where the CLI passes on the whole of one as JSON: with status 400, before 0.66 any."""
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
    ("Connection failed: builder error", "configuration_broken"),  # of a base_url that is no URL
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
"""That of a command line that the CLI does not take; what else it says on stderr alone ends it with 1."""

# What releases since 0.120 write to stderr for a session they cannot find; the second is for forks of what is no UUID.
_SESSION_MISSING: Final = (b"no rollout found for thread id", b"Session not found:")
# The sandbox would execute these programs: without them no command starts, and no item tells of one (F12).
_NO_SANDBOX: Final = b"Refusing to create helper binaries under temporary dir"
_LONGEST_PHRASE: Final = max(map(len, (*_SESSION_MISSING, _NO_SANDBOX)))


class Diagnosis:
    """What the stream of a run says of why it failed: the last error counts, as long as nothing has gone on since.

    `hint` is what that error stands for, `sandbox` whether the sandbox starts commands, None while that is not known.
    No text is kept.
    """

    __slots__ = ("_lasting", "hint", "noted", "sandbox")

    def __init__(self) -> None:
        self.hint: Hint | None = None
        self.noted = False
        """Whether the last thing known to have happened is an error."""
        self.sandbox: bool | None = None
        self._lasting: Hint | None = None

    def command_ended(self, command: str, output: str, exit_code: int) -> bool:
        """Note a command's end; return True for the first that the sandbox did not start, if none was started (F12)."""
        started = was_started(command, output, exit_code)
        first = started is False and self.sandbox is None
        if started is not None and not self.sandbox:
            self.sandbox = started
        return first

    def note(self, error: object) -> None:
        """An `error` line's message, or what a failed turn carries."""
        said = error.get("message") if isinstance(error, dict) else error
        self.noted = True
        self.hint = hint_of_error(said) if isinstance(said, str) else None
        if self.hint == "mcp_server_failed":
            self._lasting = self.hint

    def recover(self) -> None:
        """Take the hint back: the agent continued after the error."""
        self.noted = False
        self.hint = None

    def explain(self, status: ExitStatus, turn: TurnOutcome | None, stderr: Hint | None) -> Hint | None:
        """The hint of a run whose agent ended with `status`; `stderr` is what its stderr tells (F9).

        Before a turn has begun the CLI tells why it gives up on stderr, and afterwards in the stream.
        """
        if turn == "completed":
            return (self._lasting if status.code else None) or self.hint_of_sandbox(stderr)
        if self.hint is None and turn is None and status.code == (_USAGE_STATUS if stderr == "flag_unknown" else 1):
            return stderr
        return self.hint or self.hint_of_sandbox(stderr)

    def hint_of_sandbox(self, stderr: Hint | None) -> Hint | None:
        """The hint of a run none of whose commands the sandbox started; None for any other run (F12)."""
        unknown = self.sandbox is None and stderr == "sandbox_unavailable"
        return "sandbox_unavailable" if unknown or self.sandbox is False else None


class StderrTail:
    """The end of the agent's stderr, bounded, and shown by nothing (S7, X1)."""

    __slots__ = ("_end", "_sandbox_missing", "session_missing")

    def __init__(self) -> None:
        self._end = b""
        self._sandbox_missing = False
        self.session_missing = False
        """Whether the agent has said anywhere that it lacks the session it was to go on with (S9)."""

    def note(self, data: bytes) -> None:
        """The next bytes."""
        around = self._end[-_LONGEST_PHRASE:] + data
        self.session_missing |= any(phrase in around for phrase in _SESSION_MISSING)
        self._sandbox_missing |= _NO_SANDBOX in around
        self._end = (self._end + data[-_TAIL:])[-_TAIL:]

    def take_hint(self) -> Hint | None:
        """What the bytes stand for, which are then forgotten (F9)."""
        end, self._end = self._end, b""
        return hint_of_stderr(end) or ("sandbox_unavailable" if self._sandbox_missing else None)


def hint_of_error(message: str) -> Hint | None:
    """The cause that a message of the CLI's stands for; None for one that is not known (F9).

    Takes time linear in the length of the message and never raises.
    """
    said = message[:_LONGEST].replace("\u2019", "'")
    if said.startswith(_WAITING):
        return "no_network"
    if (notice := _NOTICE.match(said)) is not None:
        said = said[notice.end() :]
    if (status := _STATUS.match(said)) is not None:
        number = status[1]
        return _hint_of_body(said) or _STATUSES.get(number) or ("server_error" if number[0] == "5" else None)
    if said.startswith("{"):
        return _hint_of_body(said) or "request_rejected"
    return _hint_of_words(said)


def hint_of_stderr(tail: bytes) -> Hint | None:
    """The cause that the end of a stderr stands for: the last line counts that is known to be the CLI's own (F9)."""
    # Compiled when they are first needed, by `re` itself: most runs do not fail.
    for line in reversed(tail.decode("utf-8", "replace").split("\n")):
        for pattern, hint in _STDERR:
            if re.match(pattern, line):
                return hint
    return None


def _hint_of_words(said: str) -> Hint | None:
    reason = said.removeprefix(_CUT)
    cause = _BEFORE_A_REASON.match(reason)
    for text in (reason if cause is None else reason[cause.end() :], said):
        if _NO_MODEL.match(text):
            return "model_unknown"
        if _SERVER_NOT_STARTED.match(text):
            return "mcp_server_failed"
        for phrase, hint in _MESSAGES:
            if text.startswith(phrase):
                return hint
    return None


def _hint_of_body(said: str) -> Hint | None:
    """What the JSON of the service says, in which the CLI's message ends; None where there is none, or no known one."""
    try:
        body: dict[str, Any] = msgspec.json.decode(said[said.find("{") : said.rfind("}") + 1])
    except (msgspec.MsgspecError, RecursionError, ValueError):
        # No JSON; or no such JSON as a service would send, which is as unknown.
        return _hint_of_words(said.partition(": ")[2])
    error = body.get("error")
    if not isinstance(error, dict):
        return _hint_of_words(detail) if isinstance(detail := body.get("detail"), str) else None
    message = error.get("message")
    code = error.get("code")
    known = _CODES.get(code) if isinstance(code, str) else None
    return known or (_hint_of_words(message) if isinstance(message, str) else None)
