"""Collect the values that the output of a run must not show (X5, X6).

They include the login of the CLI, because the agent can read the login files and print them.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.command import home_of_cli
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.dotenv import assignments
from codex_adapter.agents.codex.launch import CodexLaunch
from codex_adapter.agents.codex.settings import setting_texts
from codex_adapter.core.checks import printable
from codex_adapter.core.masking.credentials import secret_values
from codex_adapter.request import RunRequest

__all__ = ["login_secrets", "run_secrets"]

_log = logging.getLogger("codex_adapter")
_SECONDS: Final = 2.0
"""How long a run waits for a file system that does not answer."""
_LARGEST: Final = 1024 * 1024
_DEEPEST: Final = 16
_NOT_SECRET: Final = frozenset({"auth_mode", "last_refresh"})


async def run_secrets(
    launch: CodexLaunch, request: RunRequest, config: CodexConfig, *, log: bool = True
) -> tuple[str, ...]:
    """Return the secrets of the environment, of the settings and of the login.

    With `log`, log the name of each variable whose value cannot be masked. The level is a warning if the caller
    requested the mask. (X6)
    """
    found = secret_values(launch.env, config.mask, directory=launch.cwd)
    for name, why, named in found.refused if log else ():
        level = logging.WARNING if named else logging.DEBUG
        _log.log(level, "the value of %s is not masked: %s", printable(name), why)
    of_settings = _of_settings(launch, request, config)
    return tuple(dict.fromkeys((*found.values, *of_settings, *await login_secrets(launch))))


async def login_secrets(launch: CodexLaunch) -> tuple[str, ...]:
    """Return the tokens of `auth.json` and the credentials of `.env` in the run's CODEX_HOME, possibly none."""
    home = home_of_cli(launch.env)
    if home is None:
        return ()
    try:
        with trio.move_on_after(_SECONDS):
            return await trio.to_thread.run_sync(_read_login, Path(launch.cwd, home), launch, abandon_on_cancel=True)
    except (OSError, RuntimeError):  # no thread could be started
        return ()
    return ()


def _of_settings(launch: CodexLaunch, request: RunRequest, config: CodexConfig) -> Iterator[str]:
    for settings in (config.settings, request.extensions.get(keys.SETTINGS, {})):
        for name, text in setting_texts(settings):
            # In a header, a scheme such as `Bearer` precedes the token.
            for value in (text, text.rpartition(" ")[2]):
                yield from secret_values({name: value}, directory=launch.cwd).values


def _read_login(home: Path, launch: CodexLaunch) -> tuple[str, ...]:
    named = {f"auth.json {number}": text for number, text in enumerate(_strings(_json(_read(home / "auth.json"))))}
    values = list(secret_values(named, named, directory=launch.cwd).values)
    for name, value in assignments(_read(home / ".env").decode("utf-8-sig", "replace"), launch.env):
        values += secret_values({name: value}, directory=launch.cwd).values
    return tuple(dict.fromkeys(values))


def _read(path: Path) -> bytes:
    """Return the content of a regular file within the size limit, else empty. Do not block on other files."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # do not open a device
            return b""
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return b""
            content = file.read(_LARGEST + 1)
    except (OSError, ValueError):
        return b""
    return content if len(content) <= _LARGEST else b""


def _json(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return None


def _strings(value: Any, depth: int = _DEEPEST) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in _NOT_SECRET:
                yield from _strings(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _strings(inner, depth - 1)
