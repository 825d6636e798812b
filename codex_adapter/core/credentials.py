"""Which variables of the run's environment hold a secret, and which values are refused as one (X5, X6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

__all__ = ["SHORTEST_SECRET", "Refusal", "SecretValues", "secret_values"]

SHORTEST_SECRET: Final = 8
"""Characters that a value must have to be masked; anything shorter would turn up everywhere (X6)."""

_NAME = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTHORIZATION|COOKIE"
    r"|(?:_|\A)(?:KEY|PAT|PWD|PASS|AUTH|DSN)\Z"
)
_NOT_SECRET = frozenset({"PWD", "OLDPWD"})

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
        *("public-key", "interactive", "workspace"),
    }
)
_ORDINARY_NAMES: Final = ("HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "HOSTNAME", "SHELL", "PATH", "LANG", "TMPDIR")
"""Variables whose values are known to everybody, and are likely to stand in what an agent says."""


class Refusal(NamedTuple):
    """A variable whose value is not masked; `why` holds nothing of it, `named` tells that its masking was asked for."""

    name: str
    why: str
    named: bool


class SecretValues(NamedTuple):
    """What is to be masked in a run, and what was refused."""

    values: tuple[str, ...]
    refused: tuple[Refusal, ...]


def secret_values(environment: Mapping[str, str], also: Iterable[str] = (), *, directory: str = "") -> SecretValues:
    """The values of `environment` that are secrets: by their variable's name, or because it is in `also` (X5, X6).

    `directory` is where the run works; a value that is this path, or one above it, is no secret.
    """
    named = dict.fromkeys(also)
    values: list[str] = []
    # One that is not set may be a value that was given for a name by mistake.
    refused = [
        Refusal(f"variable {number} of those to be masked", "it is not set; give its name", True)
        for number, name in enumerate(named, 1)
        if name not in environment
    ]
    ordinary = {environment[name].strip() for name in _ORDINARY_NAMES if name in environment and name not in named}
    paths = [directory, environment.get("HOME", "")]
    for name, value in environment.items():
        if name in named or (_NAME.search(name.upper()) and name.upper() not in _NOT_SECRET):
            why = _refusal(value.strip(), ordinary, paths)
            if why is None:
                values.append(value)
            else:
                refused.append(Refusal(name, why, name in named))
    return SecretValues(tuple(values), tuple(refused))


def _refusal(value: str, ordinary: Iterable[str], paths: Iterable[str]) -> str | None:
    """Why a value is no secret, None when it is one (X6)."""
    if len(value) < SHORTEST_SECRET:
        return f"it is shorter than {SHORTEST_SECRET} characters"
    if _NUMBER.fullmatch(value):
        return "it is a number that may stand for anything"
    if len(set(value)) < _FEWEST_CHARACTERS:
        return "it repeats too few characters"
    if value.casefold() in _COMMON:
        return "it is a common word"
    if value in ordinary or any(f"{path}/".startswith(f"{value.rstrip('/')}/") for path in paths):
        return "it is an ordinary value of this environment"
    return None
