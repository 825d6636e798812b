"""Find the secrets in a run's environment, and the values that are refused as secrets (X5, X6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from codex_adapter.core.masking.credential_names import is_credential_name

__all__ = ["SHORTEST_SECRET", "Refusal", "SecretValues", "find_secrets_within", "secret_values"]

SHORTEST_SECRET: Final = 8
"""The fewest characters of a masked value. A shorter value would match everywhere (X6)."""

_FEWEST_CHARACTERS: Final = 4
_NUMBER = re.compile(r"[ ./:,+-]*(?:[0-9][ ./:,+-]*){1,15}")
_COMMON: Final = frozenset(
    {
        *("password", "passw0rd", "password1", "password12", "password123", "changeme", "changeit"),
        *("change-me", "change_me", "letmein!", "trustno1", "administrator", "anonymous", "username"),
        *("user-name", "testtest", "test-test", "testpass", "test-key", "test_key", "testing123", "test1234"),
        *("12345678", "123456789", "1234567890", "abcd1234", "abcdefgh", "qwertyui", "qwertyuiop"),
        *("default-key", "secret-key", "secretkey", "localhost", "localhost:8080", "example.com", "production"),
        *("development", "staging-env", "sandboxed", "disabled", "required", "optional", "provided"),
        *("undefined", "unlimited", "automatic", "external", "internal", "standard", "postgres", "postgresql"),
        *("rabbitmq", "mongodb-root", "elasticsearch", "redacted", "[redacted]", "<redacted>", "placeholder"),
        *("dummy-key", "dummy-token", "fake-key", "fake-token", "your-api-key", "your_api_key", "your-token"),
        *("your_token", "api-key-here", "keychain", "keyring-file", "oauth2-proxy", "certificate", "publickey"),
        *("public-key", "interactive", "workspace", "x-access-token", "x-oauth-basic"),
    }
)
# The user and the password of a URL, up to the last at sign before its path.
_LOGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}://([^\s/?#:@]*)(?::([^\s/?#]*))?@")
_PARAMETER = re.compile(
    r"(?i)(?:password|passwd|pwd|secret|token|api_?key|account_?key|access_?key|access_?token|sig)"
    r"\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^;&\s\"']+))"
)
_HEADERS = re.compile(r"(?:\A|_)HEADERS?\Z")
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
_SHORTEST_USER: Final = 16
"""A user of a URL without a password may be a token if it has at least this many characters."""
_ORDINARY_NAMES: Final = ("HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "HOSTNAME", "SHELL", "PATH", "LANG", "TMPDIR")
"""Variables whose values are public and likely to be in an agent's text."""


class Refusal(NamedTuple):
    """A variable whose value is not masked. `why` has no part of the value; `named` means that the user asked to mask
    it."""

    name: str
    why: str
    named: bool


class SecretValues(NamedTuple):
    """The values to mask in a run, and the refused variables."""

    values: tuple[str, ...]
    refused: tuple[Refusal, ...]


def secret_values(environment: Mapping[str, str], also: Iterable[str] = (), *, directory: str = "") -> SecretValues:
    """Return the secrets of `environment`.

    They are the values of variables that look like credentials or are in `also`, and the passwords within URLs and
    connection strings of any variable. `directory` is where the run works. A value that is this path, or a directory
    above it, is not a secret (X5, X6).
    """
    named = dict.fromkeys(also)
    values: list[str] = []
    # A name that is not set may be a secret value that the user passed by mistake, so it is not shown.
    refused = [
        Refusal(f"variable {number} in mask", "it is not set. Pass the name of a variable, not its value", True)
        for number, name in enumerate(named, 1)
        if name not in environment
    ]
    ordinary = {environment[name].strip() for name in _ORDINARY_NAMES if name in environment and name not in named}
    paths = [directory, environment.get("HOME", "")]
    for name, value in environment.items():
        values += [part for part in find_secrets_within(value) if _refusal(part, ordinary, paths) is None]
        if _HEADERS.search(name.upper()):
            values += [part for part in _of_headers(value) if _refusal(part, ordinary, paths) is None]
        if name in named or is_credential_name(name):
            why = _refusal(value.strip(), ordinary, paths)
            if why is None:
                values.append(value)
            else:
                refused.append(Refusal(name, why, name in named))
    return SecretValues(tuple(dict.fromkeys(values)), tuple(refused))


def find_secrets_within(value: str) -> Iterator[str]:
    """Yield the passwords within URLs and connection strings, both as written and with their escapes undone."""
    for login in _LOGIN.finditer(value):
        user, password = login.groups()
        if password is None and len(user) >= _SHORTEST_USER:
            password = user
        if password:
            yield password
            if "%" in password:
                yield _unquote(password)
    for parameter in _PARAMETER.finditer(value):
        found = parameter[parameter.lastindex or 0]
        yield found
        if "%" in found:
            yield _unquote(found.replace("+", " "))


def _of_headers(value: str) -> Iterator[str]:
    """Yield the values of headers, one on each line or separated by commas, and each without the scheme before it."""
    for header in re.split(r"[\n,]", value):
        text = re.split("[:=]", header, maxsplit=1)[-1].strip()
        yield from (text, re.split(" |%20", text)[-1])


def _unquote(text: str) -> str:
    encoded = text.encode("utf-8", "surrogateescape")
    plain = _PERCENT.sub(lambda escape: bytes.fromhex(escape[1].decode()), encoded)
    return plain.decode("utf-8", "surrogateescape")


def _refusal(value: str, ordinary: Iterable[str], paths: Iterable[str]) -> str | None:
    """Return why a value is not a secret, None if it is one (X6)."""
    if len(value) < SHORTEST_SECRET:
        return f"it is shorter than {SHORTEST_SECRET} characters"
    if _NUMBER.fullmatch(value):
        return "it is a number, which may occur anywhere"
    if len(set(value)) < _FEWEST_CHARACTERS:
        return "it has too few different characters"
    if value.casefold() in _COMMON:
        return "it is a common word"
    if value in ordinary or any(f"{path}/".startswith(f"{value.rstrip('/')}/") for path in paths):
        return "it is an ordinary value of this environment"
    return None
