"""Collect the values that the output of a run must not show (X5, X6).

They include the logins of the CLI, because the agent can read their files and print them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from codex_adapter.agents.pi.command import agent_directory
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.launch import PiLaunch
from codex_adapter.runtime.login_files import environment_secrets, read_in_time, read_secrets, strings_to_mask

__all__ = ["run_secrets"]

_NOT_SECRET: Final = frozenset({"type", "name", "baseUrl", "api"})
_OF_A_MODEL: Final = ("headers", "apiKey")


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
    values = [*strings_to_mask(read_secrets(home / "auth.json"), cwd, not_secret=_NOT_SECRET)]
    values += strings_to_mask(list(_of_models(read_secrets(home / "models.json"))), cwd, not_secret=_NOT_SECRET)
    # A key is also written as the name of a variable, or as a command after an exclamation mark.
    return tuple(value for value in values if value not in env and not value.startswith("!"))


def _of_models(value: Any) -> Iterator[Any]:
    """Yield what may be secret of the providers, and of each of their models, whose names are not."""
    providers = value.get("providers") if isinstance(value, Mapping) else None
    if not isinstance(providers, Mapping):
        yield value if isinstance(value, list) else None
        return
    for provider in providers.values():
        if isinstance(provider, Mapping):
            yield {name: inner for name, inner in provider.items() if name != "models"}
            models = provider.get("models")
            for model in models if isinstance(models, list) else ():
                if isinstance(model, Mapping):
                    yield [model.get(name) for name in _OF_A_MODEL]
