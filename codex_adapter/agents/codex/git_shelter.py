"""Keep the CLI's own git commands out of a project that is not trusted (S11).

The CLI runs `git status` outside of its sandbox, and git runs the filters that the configuration of a repository names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from codex_adapter.agents.codex.command import MACHINE_SETTINGS
from codex_adapter.agents.codex.releases import Version, quirk
from codex_adapter.core.checks import toml_string

__all__ = ["shelter_git"]

_NAME: Final = "GIT_DIR"
_NO_SNAPSHOT: Final = "features.shell_snapshot=false"
_RESTORES_EXCLUDED: Final = quirk("snapshot_restores_excluded")


def shelter_git(env: dict[str, str], codex_home: str, release: Version | None) -> tuple[str, ...]:
    """Have git find no repository in `env`, and return the settings that keep this from commands in the sandbox.

    Commands get the run's own `GIT_DIR`. Without one they get none, and none of the variables that the user excludes,
    since this list replaces the user's. `release` is the CLI's, None if unknown. Blocks on files.
    """
    own = env.get(_NAME)
    env[_NAME] = os.devnull
    if own is not None:
        return (f"shell_environment_policy.set.{_NAME}={toml_string(own)}",)
    excluded = ",".join(map(toml_string, (*_excluded(codex_home), _NAME)))
    settings = (f"shell_environment_policy.exclude=[{excluded}]",)
    return (*settings, _NO_SNAPSHOT) if release is None or _RESTORES_EXCLUDED.holds(release) else settings


def _excluded(codex_home: str) -> list[str]:
    """List the variables that the user's settings keep from commands; with unreadable ones the CLI does not start."""
    excluded: list[str] = []
    for directory in (MACHINE_SETTINGS, codex_home):
        policy = _read(Path(directory, "config.toml")).get("shell_environment_policy")
        names = policy.get("exclude") if isinstance(policy, dict) else None
        if isinstance(names, list):
            excluded = [name for name in names if isinstance(name, str)]
    return excluded


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if "exclude" not in text and "\\" not in text:  # an escape can spell a key
            return {}
        import tomllib  # noqa: PLC0415 - few users exclude variables

        return tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
