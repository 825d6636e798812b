"""Read the user's configuration directory: the settings and logins for every turn (U9)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from codex_adapter.agents.claude.command import config_directory
from codex_adapter.agents.claude.user_files import login_directory, state_file
from codex_adapter.safe_read import NotRegularError, read_regular
from codex_adapter.spaces import Reach
from codex_adapter.turn_errors import TurnError

__all__ = ["API", "CLAUDE", "UserHome", "read_user_home", "writable_directories"]

API: Final = "api"
CLAUDE: Final = "claude"
_LARGEST: Final = 16 * 1024 * 1024
_SETTINGS: Final = "settings.json"
_CREDENTIALS: Final = ".credentials.json"
_KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_CLOUDS: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
_TOKEN: Final = "CLAUDE_CODE_OAUTH_TOKEN"  # noqa: S105 - a name
_CONNECTION: Final = ("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh")
_TAKEN: Final = frozenset(
    {
        *_CONNECTION,
        *("forceLoginMethod", "forceLoginOrgUUID"),
        # the answers of a model
        *("effortLevel", "alwaysThinkingEnabled", "language"),
    }
)
"""The keys of `settings.json` that a turn uses, besides the model, the variables and the limits."""
_RESERVED: Final = frozenset({"CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR", "TMPDIR", "CLAUDE_CODE_TMPDIR"})
"""Variables that settings must not change, because the adapter relies on them."""


class UserHome(NamedTuple):
    """The parts of the user's configuration that a turn uses.

    `directory` has the settings, `logins` the stored login of a subscription; each is None if it does not exist.
    `variables` are those of the settings. `key` is the API key that a login stored.
    """

    directory: Path | None
    logins: Path | None
    model: str | None
    settings: dict[str, Any]
    variables: dict[str, str]
    key: str | None
    subscribed: bool

    def providers(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the providers of models, the CLI's own choice first.

        `env` is the environment of a run. `api` is always available, because a turn can bring a key. `claude` needs a
        subscription.
        """
        variables = {**env, **self.variables}
        pays = any(variables.get(name) for name in (*_KEYS, *_CLOUDS)) or "apiKeyHelper" in self.settings
        if not (self.subscribed or variables.get(_TOKEN)):
            return (API,)
        return (API, CLAUDE) if pays else (CLAUDE, API)

    def login_env(self, provider: str, home: Path) -> dict[str, str]:
        """Return the variables that make the CLI use the login of one provider, in a turn with this home (U9).

        The CLI reads and renews the user's stored login in its own place.
        """
        place = "CLAUDE_SECURESTORAGE_CONFIG_DIR"
        if provider == CLAUDE:
            return {place: str(self.logins or home), **dict.fromkeys((*_KEYS, *_CLOUDS), "")}
        return {place: str(home), _TOKEN: ""}

    def settings_for(self, provider: str) -> dict[str, Any]:
        """Return the settings of a turn that are from the user, with the login of one provider (U9)."""
        if provider == API:
            return {**self.settings, "env": self.variables} if self.variables else dict(self.settings)
        settings = {name: value for name, value in self.settings.items() if name not in _CONNECTION}
        variables = {name: value for name, value in self.variables.items() if name not in (*_KEYS, *_CLOUDS)}
        return {**settings, "env": variables} if variables else settings

    def refuse_within(self, reach: Reach) -> None:
        """Raise `TurnError` if an agent with this reach could change the settings or the logins (U13).

        The other names of a file with hard links are unknown, so such a file is refused too.
        """
        for directory, name in ((self.directory, _SETTINGS), (self.logins, _CREDENTIALS)):
            if directory is None:
                continue
            if reach.covers(directory / name):
                raise TurnError(
                    f"The agent may write to {name} of CLAUDE_CONFIG_DIR, and so could change the settings of later "
                    "turns. Use another CLAUDE_CONFIG_DIR or cwd, or other permissions."
                )
            if (directory / name).is_file() and (directory / name).stat().st_nlink > 1:
                raise TurnError(
                    f"{name} of CLAUDE_CONFIG_DIR has a hard link, through which the agent could change it. "
                    "Replace it with a copy."
                )


def writable_directories(cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the directories that the CLI's sandbox leaves writable; `env` is the environment of the turn (U10)."""
    home = env.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - as the CLI does it
    temporary = env.get("CLAUDE_CODE_TMPDIR") or env.get("TMPDIR") or "/tmp"  # noqa: S108 - the CLI's own default
    own = Path(cwd, temporary, f"claude-{os.geteuid()}")
    return (cwd, str(own), "/tmp/claude", f"{home}/.npm/_logs", f"{home}/.claude/debug")  # noqa: S108 - the CLI's


def read_user_home(env: Mapping[str, str]) -> UserHome:
    """Read the configuration of a run with this environment. Block on files, and raise `TurnError`. (U9)"""
    named = env.get("CLAUDE_CONFIG_DIR")
    if named and not Path(named).is_dir():
        raise TurnError("CLAUDE_CONFIG_DIR, with login and settings, is not a directory. Use another one.")
    directory, logins = _existing(config_directory(env)), _existing(login_directory(env))
    found = _read(directory, _SETTINGS)
    state = state_file(env)
    key = None if state is None else _read(Path(state).absolute().parent, Path(state).name).get("primaryApiKey")
    settings = {name: value for name, value in found.items() if name in _TAKEN} | _limits(found)
    variables = found.get("env")
    texts = {
        name: text
        for name, text in (variables.items() if isinstance(variables, dict) else ())
        if isinstance(text, str) and name not in _RESERVED
    }
    return UserHome(
        directory,
        logins,
        _text(found.get("model")),
        settings,
        texts,
        _text(key),
        isinstance(_read(logins, _CREDENTIALS).get("claudeAiOauth"), dict),
    )


def _limits(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that limit the agent: what it must not do, and the network of its commands."""
    limits: dict[str, Any] = {}
    permissions, sandbox = found.get("permissions"), found.get("sandbox")
    if isinstance(permissions, dict) and isinstance(permissions.get("deny"), list):
        limits["permissions"] = {"deny": permissions["deny"]}
    if isinstance(sandbox, dict) and isinstance(sandbox.get("network"), dict):
        limits["sandbox"] = {"network": sandbox["network"]}
    return limits


def _existing(path: str | None) -> Path | None:
    directory = None if path is None else Path(path).absolute()
    return directory if directory is not None and directory.is_dir() else None


def _read(directory: Path | None, name: str) -> dict[str, Any]:
    if directory is None:
        return {}
    try:
        found = msgspec.json.decode(read_regular(directory / name, _LARGEST))
    except FileNotFoundError:
        return {}
    except (OSError, NotRegularError, ValueError, RecursionError):
        raise TurnError(f"The {name} of Claude Code cannot be read. Correct it.") from None
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
