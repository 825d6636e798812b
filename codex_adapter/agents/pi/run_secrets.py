"""Collect the values that the output of a run must not show (X5, X6).

They include the logins of the CLI, because the agent can read their files and print them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from codex_adapter.agents.pi.command import agent_directory
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.launch import PiLaunch
from codex_adapter.runtime.login_files import environment_secrets, read_in_time, read_json, strings_to_mask

__all__ = ["run_secrets"]

_NOT_SECRET: Final = frozenset({"type", "name", "baseUrl", "api", "models"})


async def run_secrets(launch: PiLaunch, config: PiConfig, *, log: bool = True) -> tuple[str, ...]:
    """Return the secrets of the environment, of the logins and of the user's models.

    With `log`, log the variables that cannot be masked. (X6)
    """
    of_environment = environment_secrets(launch.env, config.mask, launch.cwd, log=log)
    of_login = await read_in_time(partial(_read_logins, launch.env, launch.cwd))
    return tuple(dict.fromkeys((*of_environment, *of_login)))


def _read_logins(env: Mapping[str, str], cwd: str) -> tuple[str, ...]:
    directory = agent_directory(env)
    if directory is None:
        return ()
    home = Path(cwd, directory)
    values = [*strings_to_mask(read_json(home / "auth.json"), cwd, not_secret=_NOT_SECRET)]
    models: Any = read_json(home / "models.json")
    if isinstance(models, Mapping):
        values += strings_to_mask(models.get("providers"), cwd, not_secret=_NOT_SECRET)
    # A key is also written as the name of a variable, or as a command after an exclamation mark.
    return tuple(value for value in values if value not in env and not value.startswith("!"))
