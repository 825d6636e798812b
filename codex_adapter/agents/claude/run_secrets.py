"""Collect the values that the output of a run must not show (X5, X6).

They include the login of the CLI, because the agent can read the login files and print them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from codex_adapter.agents.claude.command import config_directory
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.launch import ClaudeLaunch
from codex_adapter.agents.claude.user_files import login_directory, state_file
from codex_adapter.core.masking.credentials import secret_values
from codex_adapter.runtime.login_files import (
    environment_secrets,
    read_in_time,
    read_secrets,
    strings_to_mask,
    with_and_without_schemes,
)

__all__ = ["run_secrets"]

_NOT_SECRET: Final = frozenset({"scopes", "subscriptionType", "rateLimitTier"})


async def run_secrets(launch: ClaudeLaunch, config: ClaudeConfig, *, log: bool = True) -> tuple[str, ...]:
    """Return the secrets of the environment, of the login and of the user's settings.

    With `log`, log the variables that cannot be masked. (X6)
    """
    of_environment = environment_secrets(launch.env, config.mask, launch.cwd, log=log)
    of_login = await read_in_time(partial(_read_login, launch.env, launch.cwd, trusts=launch.options.trust_project))
    return tuple(dict.fromkeys((*of_environment, *of_login)))


def _read_login(env: Mapping[str, str], cwd: str, *, trusts: bool) -> tuple[str, ...]:
    directory = config_directory(env)
    logins, state = login_directory(env), state_file(env)
    if directory is None or logins is None or state is None:
        return ()
    home = Path(cwd, directory)
    values = list(strings_to_mask(read_secrets(Path(cwd, logins, ".credentials.json")), cwd, not_secret=_NOT_SECRET))
    state_of_user = read_secrets(Path(cwd, state))
    values += strings_to_mask(
        [_member(state_of_user, name) for name in ("primaryApiKey", "customApiKeyResponses")], cwd
    )
    projects = [state_of_user, *_values(state_of_user, "projects")]
    settings = [read_secrets(home / "settings.json")]
    if trusts:
        projects.append(read_secrets(Path(cwd, ".mcp.json")))
        settings += (read_secrets(Path(cwd, ".claude", f"settings{kind}.json")) for kind in ("", ".local"))
    servers = [server for project in projects for server in _values(project, "mcpServers")]
    values += strings_to_mask([_member(server, "headers") for server in servers], cwd)
    for holder in (*settings, *servers):
        variables = _member(holder, "env")
        if isinstance(variables, Mapping):
            texts = {str(name): text for name, text in variables.items() if isinstance(text, str)}
            values += secret_values(texts, directory=cwd).values
    # A file that cannot be read is a list of its strings.
    values += strings_to_mask([each for each in (*projects, *settings, *servers) if isinstance(each, list)], cwd)
    return with_and_without_schemes(values, cwd)


def _values(value: Any, name: str) -> list[Any]:
    inner = _member(value, name)
    return list(inner.values()) if isinstance(inner, Mapping) else []


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None
