"""Test the hint of a failed run with the messages of real releases; the hint quotes no text."""

from __future__ import annotations

import json
import logging
import re
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.agents.codex.stream.diagnosis import Diagnosis, StderrTail, hint_of_error
from codex_adapter.core import stderr_tail
from codex_adapter.events import Completion, ExitStatus
from codex_adapter.hints import Hint

from ....rows import rows

pytestmark = pytest.mark.rule("F9")

HINTS = frozenset(get_args(Hint))
SPECS = Path(__file__).parents[4] / "specs"
URL = "url: http://127.0.0.1:1/v1/responses"
FAILED = ExitStatus(code=1)

ERRORS: list[tuple[str, str, Hint]] = [
    # releases, what they print as their error, hint
    ("0.44 0.163", "Missing environment variable: `SOME_KEY`.", "not_logged_in"),
    ("0.44 0.61", "exceeded retry limit, last status: 401 Unauthorized", "not_logged_in"),
    ("0.77 0.169", f"unexpected status 401 Unauthorized: Incorrect API key provided: sk-xxx., {URL}", "not_logged_in"),
    (
        "0.98 0.169",
        f"Reconnecting... 5/5 (unexpected status 401 Unauthorized: Incorrect API key provided: sk-xxx., {URL})",
        "not_logged_in",
    ),
    (
        "0.77 0.163",
        "Your access token could not be refreshed because your refresh token has expired. Please log out",
        "not_logged_in",
    ),
    (
        "0.116 0.163",
        "Your access token could not be refreshed because your refresh token was already used. Please log",
        "not_logged_in",
    ),
    (
        "0.44 0.47",
        'unexpected status 403 Forbidden: {"error": {"message": "Country not supported", "type": null, "code": null}}',
        "forbidden",
    ),
    ("0.98 0.169", f"unexpected status 403 Forbidden: <html>Just a moment</html>, {URL}", "forbidden"),
    ("0.98 0.169", "Quota exceeded. Check your plan and billing details.", "quota_exceeded"),
    ("0.44 0.47", "stream disconnected before completion: You exceeded your current quota.", "quota_exceeded"),
    ("0.44 0.140", "You've hit your usage limit. Upgrade to Pro (https://x) or try again later.", "quota_exceeded"),
    ("0.155 0.169", "You\u2019ve hit your usage limit. Upgrade to Pro (https://x), visit https://y", "quota_exceeded"),
    ("0.44 0.169", "To use Codex with your ChatGPT plan, upgrade to Plus: https://x.", "quota_exceeded"),
    ("0.77 0.169", f"unexpected status 402 Payment Required: x, {URL}", "quota_exceeded"),
    ("0.44 0.169", "exceeded retry limit, last status: 429 Too Many Requests", "rate_limited"),
    ("0.155 0.169", "rate limit exceeded: Rate limit reached for m. Please try again in 1s.", "rate_limited"),
    ("0.155 0.169", "Reconnecting... 1/1 (rate limit exceeded: slow down)", "rate_limited"),
    (
        "0.44 0.140",
        "stream disconnected before completion: Rate limit reached for m. Please try again in 0.1s.",
        "rate_limited",
    ),
    ("0.44 0.61", "exceeded retry limit, last status: 503 Service Unavailable", "overloaded"),
    ("0.98 0.169", f"unexpected status 503 Service Unavailable: overloaded, {URL}", "overloaded"),
    ("0.116 0.169", "Selected model is at capacity. Please try a different model.", "overloaded"),
    (
        "0.47 0.98",
        "stream disconnected before completion: Our servers are currently overloaded. Please try again later.",
        "overloaded",
    ),
    ("0.44 0.61", "exceeded retry limit, last status: 502 Bad Gateway", "server_error"),
    ("0.98 0.169", f"unexpected status 502 Bad Gateway: <html>Bad Gateway, {URL}", "server_error"),
    ("0.44 0.140", "We're currently experiencing high demand, which may cause temporary errors.", "server_error"),
    ("0.155 0.169", "We\u2019re currently experiencing high demand, which may cause temporary errors.", "server_error"),
    ("0.44 0.169", "stream disconnected before completion: The model crashed", "stream_cut"),
    ("0.44 0.169", "stream disconnected before completion: stream closed before response.completed", "stream_cut"),
    (
        "0.98 0.169",
        "stream disconnected before completion: Transport error: network error: error decoding response body",
        "stream_cut",
    ),
    (
        "0.47",
        "stream disconnected before completion: Transport error: "
        "Error while reading the server response: error decoding response body",
        "stream_cut",
    ),
    ("0.47", "Connection failed: error sending request for url (http://127.0.0.1:1/v1/responses)", "no_network"),
    ("0.44", "stream error: error sending request for url (https://x); retrying 3/5 in 769ms\u2026", "no_network"),
    (
        "0.98 0.140",
        "stream disconnected before completion: error sending request for url (http://127.0.0.1:1/v1/responses)",
        "no_network",
    ),
    ("0.155 0.169", "Reconnecting... waiting for network (Connection failed: error sending request)", "no_network"),
    (
        "0.163",
        "Reconnecting... 2/5 (stream disconnected before completion: failed to lookup address information: x)",
        "no_network",
    ),
    ("0.44 0.47", "unexpected status 404 Not Found: not found", "endpoint_unknown"),
    ("0.98 0.169", f"unexpected status 404 Not Found: Not found, {URL}", "endpoint_unknown"),
    (
        "0.44 0.61",
        'unexpected status 400 Bad Request: {"error": {"message": "no", "type": null, "code": "model_not_found"}}',
        "model_unknown",
    ),
    (
        "0.77 0.163",
        '{"error": {"message": "The model `m` does not exist", "type": "t", "code": "model_not_found"}}',
        "model_unknown",
    ),
    ("0.77 0.163", f"unexpected status 404 Not Found: The model `m` does not exist, {URL}", "model_unknown"),
    ("0.169", "The model `m` does not exist or you do not have access to it.", "model_unknown"),
    (
        "0.66 0.169",
        '{"detail": "The \'x\' model is not supported when using Codex with a ChatGPT account."}',
        "model_unknown",
    ),
    (
        "0.44 0.47",
        'unexpected status 400 Bad Request: {"error": {"message": "x", "code": "context_length_exceeded"}}',
        "context_too_long",
    ),
    ("0.98 0.163", '{"error": {"message": "x", "code": "context_length_exceeded"}}', "context_too_long"),
    ("0.44", "stream disconnected before completion: Your input exceeds the context window", "context_too_long"),
    (
        "0.45 0.61",
        "Codex ran out of room in the model's context window. Start a new conversation or clear earlier history.",
        "context_too_long",
    ),
    (
        "0.98 0.169",
        "Codex ran out of room in the model's context window. Start a new thread or clear earlier history.",
        "context_too_long",
    ),
    ("0.44 0.169", f"unexpected status 413 Payload Too Large: too large, {URL}", "input_too_long"),
    ("0.98 0.169", "Invalid prompt: your prompt was flagged as potentially violating our policy.", "policy_refused"),
    ("0.44 0.47", "stream disconnected before completion: Invalid prompt: we flagged it", "policy_refused"),
    ("0.77 0.98", '{"error": {"message": "flagged", "type": null, "code": "cyber_policy"}}', "policy_refused"),
    (
        "0.44",
        'unexpected status 400 Bad Request: {"error": {"message": "Invalid prompt: x", "code": "invalid_prompt"}}',
        "policy_refused",
    ),
    (
        "0.116 0.169",
        "stream disconnected before completion: Incomplete response returned, reason: content_filter",
        "policy_refused",
    ),
    ("0.169", "Incomplete response returned, reason: max_output_tokens", "answer_incomplete"),
    (
        "0.116 0.155",
        "stream disconnected before completion: Incomplete response returned, reason: max_output_tokens",
        "answer_incomplete",
    ),
    (
        "0.44 0.47",
        'unexpected status 400 Bad Request: {"error": {"message": "bad request now"}}',
        "request_rejected",
    ),
    ("0.77 0.169", '{"error": {"message": "Unsupported value", "code": "unsupported_value"}}', "request_rejected"),
    ("0.44", "builder error", "configuration_broken"),
    ("0.58", "Connection failed: builder error", "configuration_broken"),
    ("0.98 0.163", "stream disconnected before completion: builder error", "configuration_broken"),
    ("0.44 0.58", "MCP client for `srv` failed to start: request timed out", "mcp_server_failed"),
]

WARNING = "WARNING: proceeding, even though we could not create PATH aliases: x\n"
LOG = "2026-11-22T05:18:49.452265Z ERROR codex_core::session: "
BACKTRACE = "\nStack backtrace:\n" + "".join(f"  {frame}: <unknown>\n" for frame in range(60))

STDERRS: list[tuple[str, str, Hint]] = [
    # releases, stderr, hint
    (
        "0.98 0.169",
        f"{WARNING}Error loading config.toml:\n/h/config.toml:1:9: string values must be quoted\n  |\n1 | model = \n",
        "configuration_broken",
    ),
    (
        "0.116 0.169",
        "Error loading config.toml: invalid type: integer `3`, expected a string\nin `model`\n",
        "configuration_broken",
    ),
    (
        "0.44 0.47",
        f"Error: TOML parse error at line 6, column 6\n  |\n6 | a = = b\n\n{BACKTRACE}",
        "configuration_broken",
    ),
    ("0.44", "Error: invalid type: integer `3`, expected a string\nin `model`\n\n", "configuration_broken"),
    ("0.44", "Error: unknown variant `bogus`, expected `responses` or `chat`\nin `x`\n", "configuration_broken"),
    ("0.44 0.169", f"{WARNING}Error: Model provider `nosuch` not found\n", "configuration_broken"),
    ("0.155 0.169", 'Error: approval_policy = "untrusted" is no longer supported; remove it', "configuration_broken"),
    (
        "0.116 0.169",
        f"{LOG}Failed to create session: required MCP servers failed to initialize: s: x\n"
        "Error: thread/start: thread/start failed: error creating thread: Fatal error: Failed to initialize session: "
        f"required MCP servers failed to initialize: s: No such file (os error 2) (code -32603)\n{BACKTRACE}",
        "mcp_server_failed",
    ),
    (
        "0.116 0.169",
        "Error: turn/start: turn/start failed: Input exceeds the maximum length of 1048576 characters. (code -32602)\n",
        "input_too_long",
    ),
    (
        "0.44 0.169",
        "Not inside a trusted directory and --skip-git-repo-check was not specified.\n",
        "not_a_git_repository",
    ),
    (
        "0.44 0.169",
        "error: unexpected argument '--no-such-flag' found\n\nUsage: codex exec [OPTIONS] [PROMPT]\n",
        "flag_unknown",
    ),
    ("0.44 0.169", "error: invalid value 'everything' for '--sandbox <SANDBOX_MODE>'\n  [possible]\n", "flag_unknown"),
]

NO_MESSAGE = {
    *("session_unknown", "schema_ignored", "sandbox_unavailable", "time_limit", "idle_limit", "tool_limit"),
    *("budget_limit", "turn_limit", "no_answer"),
    *("cli_not_found", "cli_not_executable", "home_missing"),
}
"""The hints that no message of the CLI gives."""

NOTHING_OF_ERRORS = [
    "Re-connecting... 5/5",  # up to 0.61
    "Reconnecting... 2/5",
    "flagged",  # what 0.163 passes on of a refusal with the code `cyber_policy`
    "unexpected status 418 I'm a teapot: x",
    "The agent said: Quota exceeded. Check your plan",
    "`unexpected status 401 Unauthorized` is what the tool printed",
    "Heads up: long conversations make the model less accurate",
    "MCP client for srv failed to start",
    "",
]

NOTHING_OF_STDERR = [
    "",
    f"{LOG}failed to record rollout items: thread 01a not found\n",
    f"{LOG}Failed to create session: required MCP servers failed to initialize: s\n",
    'TIME ERROR codex_api::endpoint::responses: error=http 401 Unauthorized: Some("{}")\n',
    "No prompt provided via stdin.\n",
    "Error: No such file or directory (os error 2)\n",
    "  Error loading config.toml: of somebody else, who indents\n",
    "server: Not inside a trusted directory and --skip-git-repo-check was not specified.\n",
]


def hint_of_stderr(text: str) -> Hint | None:
    """Return the hint of a run that prints this text to stderr."""
    tail = StderrTail()
    tail.receive(text.encode())
    return tail.take_hint()


@rows(("releases", "message", "hint"), ERRORS)
def test_what_a_real_release_says_of_a_failure_has_its_hint(releases: str, message: str, hint: Hint) -> None:
    assert hint_of_error(message) == hint, releases


@rows(("releases", "stderr", "hint"), STDERRS)
def test_what_a_real_release_writes_to_stderr_as_it_gives_up_has_its_hint(
    releases: str, stderr: str, hint: Hint
) -> None:
    assert hint_of_stderr(stderr) == hint, releases


def test_each_hint_of_a_message_is_of_a_real_failure() -> None:
    told = {hint for _, _, hint in [*ERRORS, *STDERRS]}
    assert told == HINTS - NO_MESSAGE


@rows("message", NOTHING_OF_ERRORS)
def test_an_unknown_message_has_no_hint(message: str) -> None:
    assert hint_of_error(message) is None


@rows("stderr", NOTHING_OF_STDERR)
def test_noise_on_stderr_has_no_hint(stderr: str) -> None:
    assert hint_of_stderr(stderr) is None


@rows(
    "body",
    ["{", "{}", '{"error": 3}', '{"error": {"code": 3, "message": 4}}', '{"detail": 5}', "{" * 5_000, '{"a":' * 900],
)
def test_a_refusal_in_a_shape_that_nobody_knows_is_a_refused_request(body: str) -> None:
    assert hint_of_error(body) == "request_rejected"
    assert hint_of_error(f"unexpected status 400 Bad Request: {body}") == "request_rejected"


def test_a_body_that_is_no_object_is_a_refused_request() -> None:
    assert hint_of_error("unexpected status 400 Bad Request: [{}]") == "request_rejected"


@given(st.text(max_size=200), st.sampled_from([message for _, message, _ in ERRORS]))
def test_any_message_is_classified_within_the_list(noise: str, message: str) -> None:
    for text in (noise, message + noise, noise + message, message[: len(noise)] + noise):
        assert hint_of_error(text) in HINTS | {None}


@given(st.lists(st.binary(max_size=60)), st.sampled_from([stderr.encode() for _, stderr, _ in STDERRS]))
def test_any_stderr_is_classified_within_the_list_however_it_is_read(reads: list[bytes], stderr: bytes) -> None:
    tail, whole = StderrTail(), StderrTail()
    for data in [*reads, stderr, *reads]:
        tail.receive(data)
    whole.receive(b"".join([*reads, stderr, *reads]))
    hint = tail.take_hint()
    assert hint == whole.take_hint()
    assert hint in HINTS | {None}
    assert tail.take_hint() is None


def test_the_last_words_count_however_much_was_said_before_or_among_them() -> None:
    tail = StderrTail()
    for _ in range(3):
        tail.receive(b"Error: Model provider `x` not found\n")
        tail.receive(b"noise\n" * 100_000)
    assert tail.take_hint() is None
    tail.receive(
        b"Error: Model provider `x` not found\n" + b"error: unexpected argument '-x' found\n" + b"noise\n" * 99
    )
    assert tail.take_hint() == "flag_unknown"


@pytest.mark.rule("S9")
@pytest.mark.parametrize("phrase", [b"no rollout found for thread id", b"Session not found:"])
def test_a_missing_session_is_heard_wherever_it_is_said_and_however_it_is_cut(phrase: bytes) -> None:
    for cut in range(len(phrase)):
        tail = StderrTail()
        tail.receive(b"noise\n" * 10_000 + phrase[:cut])
        assert not tail.session_missing
        tail.receive(phrase[cut:])
        tail.receive(b"noise\n" * 10_000)
        assert tail.session_missing


NO_HELPERS = b'WARNING: proceeding, even though we could not create PATH aliases: Refusing to create helper binaries \
under temporary dir "/tmp" (codex_home: AbsolutePathBuf("/tmp/home"))\n'


@pytest.mark.rule("F12")
def test_a_home_in_the_temporary_directory_is_heard_however_much_is_said_after_it() -> None:
    for cut in range(0, len(NO_HELPERS), 7):
        tail = StderrTail()
        tail.receive(b"noise\n" + NO_HELPERS[:cut])
        tail.receive(NO_HELPERS[cut:])
        tail.receive(b"noise\n" * 10_000)
        assert tail.take_hint() == "sandbox_unavailable"
    tail.receive(NO_HELPERS + b"Error: Model provider `x` not found\n")
    assert tail.take_hint() == "configuration_broken"


@pytest.mark.rule("F12")
@pytest.mark.parametrize(("started", "hint"), [(None, "sandbox_unavailable"), (True, None)])
def test_that_no_helpers_were_made_counts_where_no_command_is_known_to_have_started(
    started: bool | None, hint: Hint | None
) -> None:
    diagnosis = Diagnosis()
    diagnosis.sandbox.works = started
    assert diagnosis.explain(ExitStatus(code=0), "completed", "sandbox_unavailable") == hint
    assert diagnosis.hint_of_sandbox("sandbox_unavailable") == hint
    assert diagnosis.hint_of_sandbox(None) is None


@pytest.mark.rule("B3")
def test_neither_time_nor_memory_grows_with_what_is_said() -> None:
    """What took more than linear time would not come to its end."""
    texts = [
        "{" + '"a":' * 2_000_000,
        "unexpected status 400 Bad Request: " + "{}" * 4_000_000,
        "The model `" + "x" * 8_000_000,
        "Reconnecting... 1/5 (" * 400_000,
        "\u2019" * 8_000_000,
    ]
    tail = StderrTail()
    tracemalloc.start()
    for text in texts:
        hint_of_error(text)
    for line in (b"\n", b"Error: ", b"Error: x\n", b"\xff"):
        tail.receive(line * 1_000_000)
        tail.take_hint()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16_000_000


def error(message: str) -> bytes:
    return json.dumps({"type": "error", "message": message}).encode() + b"\n"


def failed(message: str | None) -> bytes:
    return json.dumps({"type": "turn.failed", "error": {"message": message}}).encode() + b"\n"


THREAD = b'{"type":"thread.started","thread_id":"t"}\n'
TURN = b'{"type":"turn.started"}\n'
DONE = b'{"type":"turn.completed","usage":{}}\n'
SAYS = b'{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Quota exceeded. Really."}}\n'
WARNS = b'{"type":"item.completed","item":{"id":"i","type":"error","message":"Falling back from WebSockets"}}\n'
LIMITED = "exceeded retry limit, last status: 429 Too Many Requests"
WAITING = "Reconnecting... waiting for network (Connection failed: error sending request)"
NO_SERVER = "MCP client for `srv` failed to start: request timed out"


def completion(
    lines: Sequence[bytes], status: ExitStatus = FAILED, stderr: bytes = b"", size: int | None = None
) -> Completion:
    """That of a run that printed these lines, read `size` bytes at a time."""
    pipeline, data = codex_pipeline(), b"".join(lines)
    size = size or len(data) or 1
    for start in range(0, len(data), size):
        pipeline.receive_data(data[start : start + size])
    pipeline.receive_eof()
    pipeline.decoder.receive_stderr(stderr)
    pipeline.decoder.receive_stderr(b"")
    return pipeline.completion(status)


@pytest.mark.rule("L5")
@rows(
    ("lines", "status", "hint"),
    [
        pytest.param([TURN, error(LIMITED), failed(LIMITED)], 1, "rate_limited", id="failed turn"),
        pytest.param([TURN, failed(LIMITED)], 1, "rate_limited", id="failed turn alone"),
        pytest.param([TURN, error(LIMITED), failed(LIMITED)], 0, "rate_limited", id="failed turn, status 0"),
        pytest.param([TURN, error(WAITING), error("?"), failed("?")], 1, None, id="the last error is unknown"),
        pytest.param([TURN, error(LIMITED), failed(None)], 1, None, id="a turn that fails without a word"),
        pytest.param([TURN, error(WAITING)], -15, "no_network", id="killed while it waits"),
        pytest.param([TURN, error(WAITING), WARNS, b"noise\n"], -15, "no_network", id="warnings are no progress"),
        pytest.param([TURN, error(WAITING), SAYS], -15, None, id="killed when it went on"),
        pytest.param([TURN, error(WAITING), DONE], 0, None, id="success"),
        pytest.param([TURN, error(WAITING), DONE], 3, None, id="odd status after success"),
        pytest.param([TURN, SAYS], 1, None, id="what the model says"),
        pytest.param([error(NO_SERVER), TURN, SAYS, DONE], 1, "mcp_server_failed", id="server, turn completed"),
        pytest.param([error(NO_SERVER), TURN, SAYS, DONE], -9, None, id="server, turn completed, killed"),
        pytest.param([error(NO_SERVER), TURN, SAYS, DONE], 0, None, id="server, success"),
        pytest.param([error(NO_SERVER), TURN, error(LIMITED), failed(LIMITED)], 1, "rate_limited", id="two causes"),
        pytest.param([WARNS, TURN], 1, None, id="cut off"),
        pytest.param([], 1, None, id="nothing"),
    ],
)
def test_the_last_error_of_a_failed_run_counts_however_the_stream_is_cut(
    lines: list[bytes], status: int, hint: Hint | None
) -> None:
    for size in (None, 1, 7, 60, 250):
        done = completion([THREAD, *lines], ExitStatus.from_returncode(status), size=size)
        assert done.hint == hint


@given(st.lists(st.sampled_from([TURN, DONE, SAYS, WARNS, error(LIMITED), error("?"), failed(WAITING), failed(None)])))
def test_the_hint_does_not_depend_on_the_reads(lines: list[bytes]) -> None:
    whole = completion(lines)
    assert {completion(lines, size=size).hint for size in (1, 13, 90)} == {whole.hint}


@rows(
    ("lines", "status", "stderr", "hint"),
    [
        ([], ExitStatus(code=1), "configuration_broken", "configuration_broken"),
        ([THREAD], ExitStatus(code=1), "input_too_long", "input_too_long"),
        ([], ExitStatus(code=2), "flag_unknown", "flag_unknown"),
        ([], ExitStatus(code=1), "flag_unknown", None),
        ([], ExitStatus(code=2), "configuration_broken", None),
        ([], ExitStatus(code=0), "configuration_broken", None),
        ([], ExitStatus(signal="SIGKILL"), "configuration_broken", None),
        ([TURN], ExitStatus(code=1), "configuration_broken", None),
        ([TURN, DONE], ExitStatus(code=1), "configuration_broken", None),
        ([error(LIMITED)], ExitStatus(code=1), "configuration_broken", "rate_limited"),
        ([], ExitStatus(code=1), None, None),
    ],
)
def test_stderr_tells_only_why_no_turn_began(
    lines: list[bytes], status: ExitStatus, stderr: Hint | None, hint: Hint | None
) -> None:
    words = next((said for _, said, meant in STDERRS if meant == stderr), "")
    assert completion(lines, status, words.encode()).hint == hint


@pytest.mark.rule("K6")
def test_an_agent_ended_after_its_turn_was_completed_has_no_hint() -> None:
    pipeline = codex_pipeline()
    pipeline.receive_data(b"".join([error(NO_SERVER), TURN, DONE]))
    assert pipeline.completion(FAILED, lingered=True).hint is None


def test_the_hint_of_the_moment_is_there_while_nothing_goes_on() -> None:
    pipeline = codex_pipeline()
    told = [pipeline.hint]
    for read in (TURN, error(WAITING), WARNS, SAYS[:8], SAYS[8:], error(WAITING)):
        pipeline.receive_data(read)
        told.append(pipeline.hint)
    assert told == [None, None, "no_network", "no_network", "no_network", None, "no_network"]


@pytest.mark.rule("X1")
@pytest.mark.parametrize("text", ["Error: Model provider `CANARY` not found", "CANARY", '{"CANARY": ', "{" * 900])
def test_nothing_of_a_text_is_kept_shown_or_logged(text: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    diagnosis, tail = Diagnosis(), StderrTail()
    diagnosis.note({"message": text})
    diagnosis.note(f"Quota exceeded. {text}")
    tail.receive(text.encode())
    shown = repr(diagnosis) + str(diagnosis) + repr(tail) + str(tail)
    hint = tail.take_hint()
    kept = [getattr(diagnosis, name) for name in Diagnosis.__slots__ if name != "sandbox"] + [diagnosis.sandbox.works]
    assert "CANARY" not in shown + repr(kept) + repr(hint) + caplog.text
    assert {type(value) for value in kept} <= {str, bool, type(None)}
    assert [value for value in kept if isinstance(value, str)] == ["quota_exceeded"]
    new = StderrTail()
    assert all(getattr(tail, name) == getattr(new, name) for name in stderr_tail.StderrTail.__slots__)


def test_the_rule_lists_the_hints_in_their_order() -> None:
    rule = (SPECS / "completion.md").read_text().split("### F9 ")[1].split("\n### ")[0]
    assert re.findall(r"^\| `([a-z_]+)` \|", rule, re.MULTILINE) == list(get_args(Hint))
