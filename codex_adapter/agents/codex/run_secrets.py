"""Collect the values that the output of a run must not show (X5, X6)."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.launch import CodexLaunch
from codex_adapter.agents.codex.login_secrets import login_secrets
from codex_adapter.agents.codex.settings import SETTINGS_KEY, setting_texts
from codex_adapter.core.checks import printable
from codex_adapter.core.masking.credentials import secret_values
from codex_adapter.request import RunRequest

__all__ = ["run_secrets"]

_log = logging.getLogger("codex_adapter")


async def run_secrets(
    launch: CodexLaunch, request: RunRequest, config: CodexConfig, *, log: bool = True
) -> tuple[str, ...]:
    """Return the secrets of the environment, of the settings and of the login.

    With `log`, a value that is refused as a secret is logged by its variable's name: as a warning where its masking was
    asked for (X6).
    """
    found = secret_values(launch.env, config.mask, directory=launch.cwd)
    for name, why, named in found.refused if log else ():
        level = logging.WARNING if named else logging.DEBUG
        _log.log(level, "the value of %s is not masked: %s", printable(name), why)
    of_servers = secret_values(config.mask_env, directory=launch.cwd).values
    of_settings = _of_settings(launch, request, config)
    return tuple(dict.fromkeys((*found.values, *of_servers, *of_settings, *await login_secrets(launch))))


def _of_settings(launch: CodexLaunch, request: RunRequest, config: CodexConfig) -> Iterator[str]:
    for settings in (config.settings, request.extensions.get(SETTINGS_KEY, {})):
        for name, text in setting_texts(settings):
            # A header has the scheme in front of its token.
            for value in (text, text.rpartition(" ")[2]):
                yield from secret_values({name: value}, directory=launch.cwd).values
