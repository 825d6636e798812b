"""Collect the values that the output of a run must not show (X5, X6)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from codex_adapter.agents.codex.launch import Launch
from codex_adapter.agents.codex.login_secrets import login_secrets
from codex_adapter.agents.codex.settings import SETTINGS_KEY, setting_texts
from codex_adapter.core.checks import printable
from codex_adapter.core.masking.credentials import secret_values
from codex_adapter.request import CodexConfig, RunRequest

__all__ = ["run_secrets"]

_log = logging.getLogger("codex_adapter")


async def run_secrets(
    launch: Launch, request: RunRequest, config: CodexConfig, mask_env: Mapping[str, str], *, log: bool = True
) -> tuple[str, ...]:
    """Return the secrets of the environment, of the settings and of the login.

    `mask_env` are variables of processes that the run starts. With `log`, a value that is refused as a secret is logged
    by its variable's name: as a warning where its masking was asked for (X6).
    """
    found = secret_values(launch.env, config.mask, directory=launch.cwd)
    for name, why, named in found.refused if log else ():
        level = logging.WARNING if named else logging.DEBUG
        _log.log(level, "the value of %s is not masked: %s", printable(name), why)
    of_processes = secret_values(mask_env, directory=launch.cwd).values
    of_settings = _of_settings(launch, request, config)
    return tuple(dict.fromkeys((*found.values, *of_processes, *of_settings, *await login_secrets(launch))))


def _of_settings(launch: Launch, request: RunRequest, config: CodexConfig) -> Iterator[str]:
    for settings in (config.settings, request.extensions.get(SETTINGS_KEY, {})):
        for name, text in setting_texts(settings):
            # A header has the scheme in front of its token.
            for value in (text, text.rpartition(" ")[2]):
                yield from secret_values({name: value}, directory=launch.cwd).values
