"""Collect the values that the output of a run must not show (X5, X6).

They include the login of the CLI, because the agent can read the login files and print them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.command import home_of_cli
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.dotenv import assignments
from codex_adapter.agents.codex.launch import CodexLaunch
from codex_adapter.agents.codex.settings import setting_texts
from codex_adapter.core.masking.credentials import secret_values
from codex_adapter.request import RunRequest
from codex_adapter.runtime.login_files import (
    environment_secrets,
    quoted_strings,
    read_in_time,
    read_login_file,
    read_secrets,
    strings_to_mask,
    with_and_without_schemes,
)

__all__ = ["login_secrets", "run_secrets"]

_NOT_SECRET: Final = frozenset({"auth_mode", "last_refresh"})
_NOT_SECRET_OF_SERVERS: Final = frozenset({"server_name", "url", "server_url", "client_id", "scopes", "token_type"})
_MAY_HAVE_SECRETS: Final = re.compile(rb"(?i)token|key|secret|passw|header|auth|env|://|\bset\b")


async def run_secrets(
    launch: CodexLaunch, request: RunRequest, config: CodexConfig, *, log: bool = True
) -> tuple[str, ...]:
    """Return the secrets of the environment, of the settings and of the login.

    With `log`, log the variables that cannot be masked. (X6)
    """
    of_environment = environment_secrets(launch.env, config.mask, launch.cwd, log=log)
    of_settings = _of_settings(launch, request, config)
    return tuple(dict.fromkeys((*of_environment, *of_settings, *await login_secrets(launch))))


async def login_secrets(launch: CodexLaunch) -> tuple[str, ...]:
    """Return the tokens of `auth.json` and the credentials of `.env` in the run's CODEX_HOME, possibly none."""
    home = home_of_cli(launch.env)
    return () if home is None else await read_in_time(partial(_read_login, Path(launch.cwd, home), launch))


def _of_settings(launch: CodexLaunch, request: RunRequest, config: CodexConfig) -> Iterator[str]:
    for settings in (config.settings, request.extensions.get(keys.SETTINGS, {})):
        yield from _by_names(settings, launch.cwd)


def _by_names(settings: Mapping[str, Any], cwd: str) -> Iterator[str]:
    """Yield the texts of settings whose names look like credentials."""
    for name, text in setting_texts(settings):
        # In a header, a scheme such as `Bearer` precedes the token.
        for value in (text, text.rpartition(" ")[2]):
            yield from secret_values({name: value}, directory=cwd).values


def _read_login(home: Path, launch: CodexLaunch) -> tuple[str, ...]:
    values = list(strings_to_mask(read_secrets(home / "auth.json"), launch.cwd, not_secret=_NOT_SECRET))
    of_servers = read_secrets(home / ".credentials.json")
    values += strings_to_mask(of_servers, launch.cwd, not_secret=_NOT_SECRET_OF_SERVERS)
    values += _of_configuration(home / "config.toml", launch.cwd)
    for name, value in assignments(read_login_file(home / ".env").decode("utf-8-sig", "replace"), launch.env):
        values += secret_values({name: value}, directory=launch.cwd).values
    return tuple(dict.fromkeys(values))


def _of_configuration(file: Path, cwd: str) -> Iterator[str]:
    """Yield the texts of the user's settings whose names look like credentials, and those of all headers."""
    content = read_login_file(file)
    if not _MAY_HAVE_SECRETS.search(content):
        return
    import tomllib  # noqa: PLC0415 - few users have secrets there

    try:
        settings = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        # The CLI does not start then, and says why.
        yield from strings_to_mask(quoted_strings(file, content, level=logging.DEBUG), cwd)
        return
    yield from _by_names(settings, cwd)
    for table in ("model_providers", "mcp_servers"):
        holders = settings.get(table)
        for holder in holders.values() if isinstance(holders, dict) else ():
            headers = holder.get("http_headers") if isinstance(holder, dict) else None
            yield from with_and_without_schemes(strings_to_mask(headers, cwd), cwd)
