"""Test the masking of credentials with `***`: true and false matches, in linear time."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.core.masking.masker import MASK, Masker
from codex_adapter.core.masking.secret_forms import SecretForms, Work

from ..rows import rows

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
    "eyJ" + "a" * 13 + "." + "b" * 8,
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


@pytest.mark.rule("X5")
@rows("token", TOKENS)
@rows(
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
@rows("text", NO_SECRETS)
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
@rows("secret", ["hunter2+hunter2", "sk-proj-0123456789abcdef01"])
@rows("before", range(65_536 - 30, 65_536 + 2))
def test_a_secret_is_seen_wherever_it_stands_in_a_long_text(secret: str, before: int) -> None:
    masked = Masker(["hunter2+hunter2"]).mask(f"{'.' * before} {secret} {'.' * 70_000}")
    assert masked == f"{'.' * before} {MASK} {'.' * 70_000}"


@pytest.mark.rule("X5", "X8")
def test_a_secret_within_six_kinds_of_escapes_is_masked_with_all_of_them() -> None:
    text = secret = 'pa"ss-wörd-1234'
    for number in range(14):
        text = quote(text) if number % 2 else json.dumps(text)[1:-1]
    assert secret not in Masker((secret,)).mask(f"x {text} y")


@pytest.mark.rule("X8")
def test_the_last_kind_of_escapes_is_looked_into_and_none_behind_it() -> None:
    forms = SecretForms(["s3cret-word-1234"])
    once, twice = b"s3cret\\u002dword-1234", b"s3cret%5Cu002dword-1234"
    assert forms._escaped_spans(once, 1, Work()) != []
    assert forms._escaped_spans(twice, 1, Work()) == []
    assert forms._escaped_spans(twice, 2, Work()) != []
