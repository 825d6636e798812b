"""Test which environment variables contain a secret, and which values are too common for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.core.masking.credentials import Refusal, secret_values
from codex_adapter.core.masking.masker import Masker

from ..rows import rows

SECRET = "correct-horse-battery-staple"
REFUSED = {
    "it is shorter than 8 characters": ["", " ", "1", "true", "s3cret!", "  s3cret!  "],
    "it is a number, which may occur anywhere": [
        *("12345678", "123456789012345", "2026-11-22", "127.0.0.1:8080", "+49 (0)".replace("(0)", "30 123456")),
    ],
    "it has too few different characters": ["********", "xxxxxxxx", "abababab", "xxx-xxx-xxx", "\u00e9" * 9],
    "it is a common word": ["password", "Password", "CHANGEME", "localhost", "production", " placeholder\n"],
    "it is an ordinary value of this environment": [
        *("/home/somebody", "/home/somebody/", "/workspace", "/workspace/project", "somebody", "/usr/bin:/bin"),
    ],
}
ENVIRONMENT = {"HOME": "/home/somebody", "USER": "somebody", "PATH": "/usr/bin:/bin"}
DIRECTORY = "/workspace/project"


@pytest.mark.rule("X5")
@rows(
    "name",
    [
        *("OPENAI_API_KEY", "CODEX_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "MYSQL_PWD"),
        *("npm_config__authToken", "SSH_PRIVATE_KEY", "SESSION_COOKIE", "SENTRY_DSN", "GH_PAT", "KEY", "SIGNING_KEY"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "HTTP_AUTHORIZATION", "SMTP_PASS", "apikey", "Passphrase", "X_AUTH"),
    ],
)
def test_a_variable_with_a_name_like_a_credential_is_a_secret(name: str) -> None:
    assert secret_values({name: SECRET, "HOME": "/home"}) == ((SECRET,), ())


@pytest.mark.rule("X5")
@rows(
    "value",
    [
        f"X-Api-Key: {SECRET}",
        f"X-Tenant: 12\nAuthorization: Bearer {SECRET}\n",
        f"x=1,api-key={SECRET}",
        f"Authorization=Basic%20{SECRET}",
    ],
)
def test_values_of_headers_are_secrets_with_and_without_their_scheme(value: str) -> None:
    for name in ("ANTHROPIC_CUSTOM_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS", "x_header"):
        assert SECRET in secret_values({name: value}).values
    assert secret_values({"HEADERS_SENT": value}) == ((), ())


@pytest.mark.rule("X5", "X6")
@rows(
    "name",
    [
        *("PATH", "HOME", "PWD", "OLDPWD", "LANG", "USER", "SSH_AUTH_SOCK", "KEYBOARD", "MONKEY", "COMPASS"),
        *("PATTERN", "AUTHOR"),
    ],
)
def test_a_variable_with_any_other_name_is_none_unless_it_is_named(name: str) -> None:
    assert secret_values({name: SECRET}) == ((), ())
    missing = Refusal("variable 2 in mask", "it is not set. Pass the name of a variable, not its value", True)
    refused = [Refusal(name, "it is an ordinary value of this environment", True)] if name == "HOME" else []
    assert secret_values({name: SECRET}, [name, "MISSING"]) == (
        () if refused else (SECRET,),
        (missing, *refused),
    )


@pytest.mark.rule("X6")
@rows(("why", "value"), [(why, value) for why, values in REFUSED.items() for value in values])
def test_a_value_that_stands_for_too_much_is_refused_and_told_by_its_name(why: str, value: str) -> None:
    environment = {**ENVIRONMENT, "SOME_TOKEN": value, "OTHER": value}
    found = secret_values(environment, ["OTHER"], directory=DIRECTORY)
    assert found.values == ()
    assert found.refused == (Refusal("SOME_TOKEN", why, False), Refusal("OTHER", why, True))
    assert all(value.strip() not in refusal.why for refusal in found.refused if len(value.strip()) > 4)


@pytest.mark.rule("X6")
@rows(
    "value",
    [
        *("hunter2hunter2", "1234567890123456", "abcdabcd", "password1234567", "my-localhost", "/home/somebody/key"),
        *("/work", "/workspace/projects", "0a1b2c3d", "correct horse", "p\u00e4ssw\u00f6rter", "somebody2"),
    ],
)
def test_any_other_value_is_a_secret(value: str) -> None:
    found = secret_values({**ENVIRONMENT, "SOME_TOKEN": f" {value}\n"}, directory=DIRECTORY)
    if len(value) < 8:
        assert found.values == ()
    else:
        assert (found.values, found.refused) == ((f" {value}\n",), ())
        assert Masker(found.values).mask(f"it is {value}.") == "it is ***."


@pytest.mark.rule("X6")
@given(st.text(max_size=12))
def test_whatever_is_too_short_is_refused_whatever_it_is(value: str) -> None:
    found = secret_values({"SOME_TOKEN": value})
    assert len(found.values) + len(found.refused) == 1
    assert found.values == () or len(value.strip()) >= 8


PASSWORDS = {
    "postgres://u:s3cr3t-p4ss@db.example.org/x": ["s3cr3t-p4ss"],
    "postgres://u:p%40ss%2Fw0rd%21@db/x?sslmode=require": ["p%40ss%2Fw0rd%21", "p@ss/w0rd!"],
    "amqp://:only-a-password@mq:5672//": ["only-a-password"],
    "mysql://root:p@ss-with-at@localhost:3306/x": ["p@ss-with-at"],
    "https://0123456789abcdef0123@registry.example.org/simple": ["0123456789abcdef0123"],
    "redis://a:first-p4ssword@one:1,redis://b:second-p4ssword@two:2": ["first-p4ssword", "second-p4ssword"],
    "Server=tcp:x;Database=y;User Id=me;Password=my-p4ssword;Encrypt=yes": ["my-p4ssword"],
    'host=/run user=me password="with spaces 1"': ["with spaces 1"],
    "host=/run user=me password='with spaces 2' dbname=x": ["with spaces 2"],
    "DefaultEndpointsProtocol=https;AccountName=me;AccountKey=QUJDREVGR0hJSktM==": ["QUJDREVGR0hJSktM=="],
    "https://example.org/hook?token=a%2Bb-token-9": ["a%2Bb-token-9", "a+b-token-9"],
}


@pytest.mark.rule("X5")
@rows(("value", "passwords"), PASSWORDS.items())
def test_a_password_within_a_url_or_a_connection_string_is_a_secret_by_itself(value: str, passwords: list[str]) -> None:
    assert secret_values({"WHATEVER": value}) == (tuple(passwords), ())
    masker = Masker(secret_values({"WHATEVER": value}).values)
    for password in passwords:
        assert masker.mask(f"it is {password}.") == "it is ***."


@pytest.mark.rule("X5", "X6")
@rows(
    "value",
    [
        *("https://example.org:8080/a", "https://me@example.org/a", "postgres://u:postgres@db/x", "git@github.com:a/b"),
        *("postgres://u:short@db/x", "http://[::1]:8080/x", "password=", "a=b;c=d", "https://x/?page=1&token="),
    ],
)
def test_any_other_url_has_no_password(value: str) -> None:
    assert secret_values({"WHATEVER": value}) == ((), ())
