"""Read the user's directory of pi: the settings and the logins for every turn (U9, U17)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from codex_adapter.agents.pi.command import agent_directory
from codex_adapter.safe_read import NotRegularError, read_regular
from codex_adapter.turn_errors import TurnError

__all__ = ["UserHome", "login_files", "read_user_home"]

_LARGEST: Final = 16 * 1024 * 1024
_LOGINS: Final = ("auth.json", "models.json")
_TAKEN: Final = frozenset(
    {
        # the connection
        *("transport", "retry", "httpProxy", "httpIdleTimeoutMs", "websocketConnectTimeoutMs"),
        # the answers of a model
        *("defaultThinkingLevel", "modelThinkingLevels", "thinkingBudgets", "compaction"),
        # the tools
        *("defaultTools", "shellPath", "images"),
    }
)
"""The keys of `settings.json` that a turn uses, besides the model."""


class UserHome(NamedTuple):
    """The parts of the user's directory that a turn uses.

    `model` is the default model as provider and name, None if the settings have none. `logins` are the existing files
    with logins and providers.
    """

    model: tuple[str, str] | None
    settings: dict[str, Any]
    logins: tuple[Path, ...]


def read_user_home(env: Mapping[str, str]) -> UserHome:
    """Read the directory of a run with this environment. Block on files, and raise `TurnError`. (U17)"""
    if env.get("PI_CODING_AGENT_DIR") and not Path(str(agent_directory(env))).is_dir():
        raise TurnError("PI_CODING_AGENT_DIR, with login and settings, is not a directory. Use another one.")
    found = _read_settings(env)
    provider, model = found.get("defaultProvider"), found.get("defaultModel")
    default = (provider, model) if isinstance(provider, str) and isinstance(model, str) and provider and model else None
    return UserHome(default, {name: value for name, value in found.items() if name in _TAKEN}, login_files(env))


def login_files(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files with logins and providers that exist. Block on files."""
    directory = agent_directory(env)
    files = () if directory is None else tuple(Path(directory).absolute() / name for name in _LOGINS)
    return tuple(path for path in files if path.is_file())


def _read_settings(env: Mapping[str, str]) -> dict[str, Any]:
    directory = agent_directory(env)
    if directory is None:
        return {}
    try:
        found = msgspec.json.decode(read_regular(Path(directory).absolute() / "settings.json", _LARGEST))
    except FileNotFoundError:
        return {}
    except (OSError, NotRegularError, ValueError, RecursionError):
        raise TurnError("The settings.json of pi cannot be read. Correct it.") from None
    return found if isinstance(found, dict) else {}
