"""Credentials -> `***`: what is one, what is not, and wherever it stands."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.core.masking import MASK, Masker, secret_values
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.events import ExitStatus
from codex_adapter.records import encode_completion, encode_events

A = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/=\nabc\n-----END RSA PRIVATE KEY-----"
TOKENS = [
    "sk-" + A[:16],
    "sk-proj-" + A + "_-" + A,
    "sk_live_" + A[:16],
    "rk_test_" + A,
    "ghp_" + A[:36],
    "gho_" + A[:36],
    "ghu_" + A[:36],
    "ghs_" + A[:36],
    "ghr_" + A[:36],
    "github_pat_" + A[:22] + "_" + A,
    "glpat-" + A[:20],
    "xoxb-123456789012-" + A[:24],
    "xoxp-1234567890-1234567890",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "AIza" + A[:35],
    "hf_" + A[:34],
    "npm_" + A[:36],
    "pypi-" + A + A,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + A,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0",
    PEM,
    PEM.replace("RSA ", ""),
    PEM.replace("RSA", "OPENSSH"),
]
INSIDE = [
    ("Authorization: Bearer ", "abcdefghijklmnop.~+/=-", "\n"),
    ("authorization: bearer ", "abcdefghijklmnop", '"'),
    ("Authorization: Basic ", "dXNlcjpwYXNzd29yZA==", ","),
    ("https://", "user:hunter2hunter2", "@example.org/x"),
    ("postgres://", ":hunter2", "@db:5432/x"),
]
"""What stands before a credential, the credential, what stands after it."""
NO_SECRETS = [
    "sk-short",
    "task-" + A,
    "desk-" + A,
    "risk-management-and-more-words",
    "ghp_short",
    "AKIAIOSFODNN7EXAMPL",
    "AKIAIOSFODNN7EXAMPLETOOLONG",
    "BAKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9",
    "eyJ.eyJ.eyJ",
    "the bearer of bad news arrived",
    "Basic knowledge",
    "https://example.org:8080/path",
    "https://example.org/a:b@c",
    "see https://example.org/x and write to me@example.org",
    "user@example.org: hello",
    "-----BEGIN CERTIFICATE-----\nMIIEow\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIEow\n-----END PUBLIC KEY-----",
    "0a1b2c3d-4e5f-6789-abcd-ef0123456789",
    "d41d8cd98f00b204e9800998ecf8427e",
    "01a1ffd7-5328-7c10-bea8-bc4f7884877f",
    "https://github.com/owner/repo/commit/" + A,
    "npm_config_registry_and_other_long_names",
]
SECRET = "correct-horse-battery-staple"


def mask(text: str, *secrets: str) -> str:
    return Masker(secrets).mask(text)


def records(stdout: bytes, *secrets: str, full_payloads: bool = False) -> bytes:
    """All that is given out of a run, in one read and byte by byte, which must be the same."""
    found = []
    for reads in ([stdout], [stdout[place : place + 1] for place in range(len(stdout))]):
        pipeline = Pipeline(secrets=secrets, full_payloads=full_payloads)
        events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
        completion = pipeline.completion(ExitStatus(code=0))
        found.append(encode_events(events) + encode_completion(len(events), completion))
    assert found[0] == found[1]
    return found[0]


def item_line(phase: str = "completed", **item: Any) -> bytes:
    return json.dumps({"type": f"item.{phase}", "item": {"id": "item_0", **item}}, ensure_ascii=False).encode() + b"\n"


@pytest.mark.rule("X5")
@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("key is ", " ok"),
        ('{"key":"', '"}'),
        ("\u00e9", "\u20ac"),
        ("(", ")."),
        ("KEY=", "\n"),
        ("\n", "\t"),
        ("", ". End"),
    ],
)
def test_a_token_of_a_well_known_shape_is_masked_wherever_it_stands(token: str, before: str, after: str) -> None:
    assert mask(before + token + after) == f"{before}***{after}"


@pytest.mark.rule("X5")
@pytest.mark.parametrize(("before", "credential", "after"), INSIDE)
def test_a_credential_is_known_by_what_stands_around_it(before: str, credential: str, after: str) -> None:
    expected = before + MASK + after
    assert mask(before + credential + after) == expected
    assert mask(f"see {before}{credential}{after} and more") == f"see {expected} and more"


@pytest.mark.rule("X5")
def test_a_private_key_without_its_end_is_masked_to_the_end() -> None:
    assert mask("key: -----BEGIN PRIVATE KEY-----\nMIIEow\nmore") == "key: ***"
    assert mask(f"one {PEM} two {PEM} three") == "one *** two *** three"


@pytest.mark.rule("X5")
@pytest.mark.parametrize("text", NO_SECRETS)
def test_what_only_looks_a_little_like_a_credential_stays(text: str) -> None:
    assert mask(text) == text
    assert mask(f"see {text}, and {TOKENS[0]}") == f"see {text}, and ***"


@pytest.mark.rule("X5")
def test_each_of_several_credentials_is_masked() -> None:
    assert mask(" ".join([*TOKENS, *TOKENS])) == " ".join([MASK] * 2 * len(TOKENS))


SHAPES = st.sampled_from(
    [
        *("sk-", "ghp_", "xoxb-", "AKIA", "eyJ", "hf_", "pypi-", "glpat-", "AIza", "sk_live_", "github_pat_", "npm_"),
        *("Bearer ", "Basic ", "://", "@", ":", ".", " ", "\n", "\0", "\u00e9", "-", "_"),
        *("a" * 8, "A1b2" * 5, "Z" * 16),
    ]
)


@pytest.mark.rule("X5")
@given(st.lists(SHAPES, max_size=12).map("".join))
def test_a_text_is_masked_the_same_alone_and_beside_a_credential(text: str) -> None:
    """`may_touch` is a short cut: where it says no, the patterns must find nothing either."""
    assert mask(f"{text} \n {TOKENS[4]}") == f"{mask(text + ' ')}\n ***"


@pytest.mark.rule("X5")
@given(st.lists(SHAPES, max_size=12).map("".join))
def test_masking_what_is_masked_changes_nothing(text: str) -> None:
    assert mask(mask(text)) == mask(text)


@pytest.mark.rule("X5")
def test_a_secret_of_the_run_is_masked_as_often_as_it_stands_there() -> None:
    assert mask(f"{SECRET}{SECRET} x{SECRET}y", SECRET) == "****** x***y"
    assert mask(f"{SECRET}\n", f"  {SECRET}\n") == "***\n"


@pytest.mark.rule("X5")
def test_the_longer_of_two_secrets_is_masked_first() -> None:
    assert mask("one-secret one-secret-more", "one-secret", "one-secret-more") == "*** ***"


@pytest.mark.rule("X5")
def test_a_short_value_is_no_secret() -> None:
    assert mask("1234567 12345678", "1234567", "12345678", "", "   ") == "1234567 ***"


@pytest.mark.rule("X5")
def test_a_secret_is_known_in_json_text_too() -> None:
    secret = 'pass"word\\with\nall\u00e9'
    assert mask(json.dumps({"a": secret}, ensure_ascii=False), secret) == '{"a": "***"}'
    assert mask(f"<{secret}>", secret) == "<***>"


@pytest.mark.rule("X5")
@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "CODEX_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "MYSQL_PWD"),
        *("npm_config__authToken", "SSH_PRIVATE_KEY", "SESSION_COOKIE", "SENTRY_DSN", "GH_PAT", "KEY", "SIGNING_KEY"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "HTTP_AUTHORIZATION", "SMTP_PASS", "apikey", "Passphrase", "X_AUTH"),
    ],
)
def test_a_variable_with_a_name_like_a_credential_is_a_secret(name: str) -> None:
    assert secret_values({name: "value", "HOME": "/home"}) == ["value"]


@pytest.mark.rule("X5")
@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "PWD",
        "OLDPWD",
        "LANG",
        "USER",
        "SSH_AUTH_SOCK",
        "KEYBOARD",
        "MONKEY",
        "COMPASS",
        "PATTERN",
        "AUTHOR",
    ],
)
def test_a_variable_with_any_other_name_is_none_unless_it_is_named(name: str) -> None:
    assert secret_values({name: "value"}) == []
    assert secret_values({name: "value"}, [name, "MISSING"]) == ["value"]


@pytest.mark.rule("X5")
@pytest.mark.parametrize(
    "line",
    [
        item_line(type="agent_message", text=f"it is {SECRET}."),
        item_line("started", type="reasoning", text=SECRET),
        item_line("delta", type="agent_message", delta=SECRET),
        item_line(type="error", message=f"bad key {SECRET}"),
        item_line(type="todo_list", items=[{"text": f"use {SECRET}"}, {"text": "two"}]),
        item_line(type="mcp_tool_call", server=SECRET, tool="t"),
        item_line(type="collab_tool_call", tool=SECRET),
        item_line(type="command_execution", id=SECRET),
        item_line(type="agent_message", text="t", id=SECRET),
        item_line("failed", type="agent_message", text="t").replace(
            b'"type"', b'"error":"%b","type"' % SECRET.encode(), 1
        ),
        item_line(type=SECRET),
        b'{"type":"error","message":"%b"}\n' % SECRET.encode(),
        b'{"type":"%b"}\n' % SECRET.encode(),
        b'{"type":"thread.started","thread_id":"%b"}\n' % SECRET.encode(),
        b'{"type":"turn.started","turn_id":"%b"}\n' % SECRET.encode() + item_line("started", type="web_search"),
        b'{"type":"turn.completed","usage":{"%b":1}}\n' % SECRET.encode(),
        item_line("started", type="web_search")
        + b'{"type":"turn.completed","thread_id":"%b","usage":{}}\n' % SECRET.encode(),
    ],
)
def test_a_secret_is_masked_wherever_a_line_may_have_it(line: bytes) -> None:
    stdout = line + item_line("started", type="command_execution") + item_line(type="agent_message", text="end")
    found = records(stdout, SECRET)
    assert SECRET.encode() not in found
    assert b"***" in found or b'"unknown"' in found


@pytest.mark.rule("X5", "M7")
@pytest.mark.parametrize(
    "item",
    [
        {"type": "command_execution", "command": f"echo {SECRET}", "aggregated_output": SECRET},
        {"type": "command_execution", "stdout": SECRET, "stderr": SECRET},
        {"type": "file_change", "changes": [{"path": f"/{SECRET}", "kind": "add"}], "diff": SECRET},
        {"type": "mcp_tool_call", "server": SECRET, "tool": SECRET, "arguments": {SECRET: [SECRET]}, "result": SECRET},
        {"type": "mcp_tool_call", "error": {"message": SECRET}},
        {"type": "collab_tool_call", "tool": SECRET, "prompt": SECRET, "agents_states": {"a": {"message": SECRET}}},
        {"type": "web_search", "query": SECRET, "action": {"url": SECRET}},
    ],
)
def test_a_secret_is_masked_in_every_payload(item: dict[str, Any]) -> None:
    found = records(item_line(**item), SECRET, full_payloads=True)
    assert SECRET.encode() not in found
    assert found.count(b"***") >= sum(SECRET in json.dumps(value) for value in item.values())


@pytest.mark.rule("X5", "M0")
def test_a_secret_is_masked_in_the_name_of_an_unknown_type_before_the_name_is_cut() -> None:
    secret = "s3cret-" * 20
    assert b"s3cret" not in records(b'{"type":"%b"}\n' % secret.encode(), secret)
    assert b"s3cret" not in records(b'{"type":"a-%b/x"}\n' % secret.encode(), secret + "/x")


@pytest.mark.rule("X5", "B2")
@pytest.mark.parametrize("before", [65_536 - len(SECRET) - 1, 65_536 - 5, 65_536 - 1, 65_536, 2 * 65_536 - 5])
def test_a_secret_across_the_place_where_a_text_is_split_is_masked(before: int) -> None:
    pipeline = Pipeline(secrets=(SECRET,))
    events = pipeline.receive_data(item_line(type="agent_message", text="x" * before + SECRET + "y"))
    assert "".join(event.text or "" for event in events) == "x" * before + "***y"


@pytest.mark.rule("X5", "B3")
@pytest.mark.parametrize("before", range(4_096 - 20 - len(SECRET), 4_096))
def test_a_secret_across_the_place_where_a_message_is_cut_is_masked(before: int) -> None:
    pipeline = Pipeline(secrets=(SECRET,))
    (event,) = pipeline.receive_data(
        b'{"type":"error","message":"%b"}\n' % (b"." * before + SECRET.encode() + b"y" * 99)
    )
    assert event.message is not None
    assert event.message.rstrip(".").lstrip(".").removesuffix("\u2026(truncated)").rstrip("y") in ("", "*", "**", "***")


@pytest.mark.rule("X5", "B5")
def test_a_secret_across_the_place_where_the_final_text_is_cut_is_masked() -> None:
    for before in range(65_536 - 20 - len(SECRET), 65_536):
        pipeline = Pipeline(secrets=(SECRET,))
        pipeline.receive_data(item_line(type="agent_message", text="." * before + SECRET + "y" * 99))
        final_text = pipeline.completion(ExitStatus(code=0)).final_text
        assert final_text is not None
        assert "corr" not in final_text


@pytest.mark.rule("X5", "M7")
@pytest.mark.parametrize("before", [0, 16_384 - 5, 16_384 - len(SECRET), 16_384])
def test_a_secret_across_the_place_where_a_payload_is_cut_is_masked(before: int) -> None:
    output = "x" * before + SECRET + "y" * 20_000
    pipeline = Pipeline(secrets=(SECRET,), full_payloads=True)
    (event,) = pipeline.receive_data(item_line(type="command_execution", aggregated_output=output))
    assert b"corr" not in encode_events([event])


@pytest.mark.rule("X5", "M7")
def test_of_a_payload_that_masking_makes_much_shorter_no_part_of_a_secret_is_left() -> None:
    secret = "q" * 50 + "w" * 50
    pipeline = Pipeline(secrets=(secret,), full_payloads=True)
    (event,) = pipeline.receive_data(item_line(type="command_execution", aggregated_output=secret * 1000))
    assert b"qqq" not in encode_events([event])


@pytest.mark.rule("X5", "L5", "B2")
def test_a_piece_of_a_split_text_is_not_masked_for_how_it_begins() -> None:
    """Alone, the second piece looks like a token; in its text it does not."""
    text = "x" * 65_536 + TOKENS[4]
    stdout = item_line(type="agent_message", text=text) + item_line(type="agent_message", text=f"see {TOKENS[0]}")
    pipeline = Pipeline()
    events = pipeline.receive_data(stdout)
    assert "".join(event.text or "" for event in events) == text + "see ***"


@pytest.mark.rule("X5", "L5", "X2")
@pytest.mark.parametrize("secret", ["turn failed", "codex stream parse error", "session handle id", "redacted"])
def test_the_adapters_own_words_are_not_masked(secret: str) -> None:
    stdout = b'{"type":"turn.failed"}\n{\n' + item_line(type="agent_message", text=f"see {secret}")
    found = records(stdout, secret)
    assert b'"message":"turn failed"' in found
    assert b'"message":"codex stream parse error (redacted): malformed JSON at byte 1 (line_bytes=1)"' in found
    assert b'"text":"see ***"' in found


HOSTILE = {
    "one long run": "a",
    "token beginnings": "sk-",
    "tokens cut short": "sk-aaaaaaaaaaaaaaa ",
    "beginnings of web tokens": "eyJaaaaaaaaaaaaaaa.",
    "users without a password": "https://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:",
    "schemes": "://",
    "schemes and colons": "://:",
    "key beginnings": "-----BEGIN PRIVATE KEY-----",
    "half key beginnings": "-----BEGIN AAAA ",
    "key ends": "PRIVATE KEY-----END ",
    "dashes": "-",
    "bearers": "Bearer aaaaaaa ",
    "at signs": "://@",
    "spaces": " ",
}


@pytest.mark.rule("X5")
@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_masking_takes_time_linear_in_the_length_of_the_text(unit: str) -> None:
    """64 times the text may take 64 times as long, with room for a busy machine; a quadratic time would be 4,096."""
    ending = " @ PRIVATE KEY----- earer "  # lets every pattern be tried
    masker = Masker([SECRET])
    assert seconds(masker, unit, 1 << 20, ending) < 640 * seconds(masker, unit, 1 << 14, ending)


def seconds(masker: Masker, unit: str, length: int, ending: str) -> float:
    text = (unit * (length // len(unit)))[:length] + ending
    times = []
    for _ in range(3):
        start = time.perf_counter()
        masker.mask(text)
        times.append(time.perf_counter() - start)
    return min(times)
