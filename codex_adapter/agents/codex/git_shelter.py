"""Keep the CLI's own git commands out of a project that is not trusted (S11).

The CLI runs `git status` outside its sandbox, and git runs the filters in the configuration of the repository.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from codex_adapter.agents.codex.command import MACHINE_SETTINGS
from codex_adapter.agents.codex.releases import quirk
from codex_adapter.core.checks import toml_string
from codex_adapter.runtime.programs import Version

__all__ = ["shelter_git"]

_NAME: Final = "GIT_DIR"
_NO_SNAPSHOT: Final = "features.shell_snapshot=false"
_RESTORES_EXCLUDED: Final = quirk("snapshot_restores_excluded")


def shelter_git(env: dict[str, str], codex_home: str, release: Version | None) -> tuple[str, ...]:
    """Change `env` so that git finds no repository, and return settings that undo this for commands in the sandbox.

    Commands get the run's own `GIT_DIR`, if it has one. Otherwise a setting excludes `GIT_DIR` from their environment.
    This setting replaces the user's list of excluded variables, so it repeats the user's list. `release` is the
    release of the CLI, or None. Block on files.
    """
    own = env.get(_NAME)
    env[_NAME] = os.devnull
    if own is not None:
        return (f"shell_environment_policy.set.{_NAME}={toml_string(own)}",)
    excluded = ",".join(map(toml_string, (*_excluded(codex_home), _NAME)))
    settings = (f"shell_environment_policy.exclude=[{excluded}]",)
    return (*settings, _NO_SNAPSHOT) if release is None or _RESTORES_EXCLUDED.holds(release) else settings


def _excluded(codex_home: str) -> list[str]:
    """Return the variables that the user's settings exclude. With unreadable settings the CLI does not start."""
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
        if "exclude" not in text and "\\" not in text:  # an escape can be part of a key
            return {}
        import tomllib  # noqa: PLC0415 - few users exclude variables

        return tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
