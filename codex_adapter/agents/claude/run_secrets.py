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
from codex_adapter.runtime.login_files import environment_secrets, read_in_time, read_secrets, strings_to_mask

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
    projects = _member(state_of_user, "projects")
    with_servers = [state_of_user, *(projects.values() if isinstance(projects, Mapping) else ())]
    with_variables = [read_secrets(home / "settings.json")]
    if trusts:
        with_servers.append(read_secrets(Path(cwd, ".mcp.json")))
        with_variables += (read_secrets(Path(cwd, ".claude", f"settings{kind}.json")) for kind in ("", ".local"))
    for holder in with_servers:
        servers = _member(holder, "mcpServers")
        for server in servers.values() if isinstance(servers, Mapping) else ():
            with_variables.append(server)
            values += strings_to_mask(_member(server, "headers"), cwd)
    for holder in with_variables:
        variables = _member(holder, "env")
        if isinstance(variables, Mapping):
            texts = {str(name): text for name, text in variables.items() if isinstance(text, str)}
            values += secret_values(texts, directory=cwd).values
    for unread in (state_of_user, *with_variables):
        values += strings_to_mask(unread if isinstance(unread, list) else None, cwd)
    # A scheme such as `Bearer` precedes the token of a header.
    return tuple(dict.fromkeys([*values, *strings_to_mask([value.rpartition(" ")[2] for value in values], cwd)]))


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None
