"""Read the user's CODEX_HOME: the settings and logins for every turn (U9)."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from codex_adapter.agents.codex.command import home_of_cli
from codex_adapter.safe_read import NotRegularError, read_regular
from codex_adapter.spaces import Reach
from codex_adapter.turn_errors import TurnError

__all__ = ["UserHome", "read_user_home"]

_OPENAI: Final = "openai"
_LARGEST: Final = 4 * 1024 * 1024
_FILES: Final = ("config.toml", ".env", "auth.json")
_TMPDIR: Final = re.compile(rb"\bTMPDIR\b")
_TAKEN: Final = frozenset(
    {
        # the connection to a model
        *("model_providers", "openai_base_url", "chatgpt_base_url", "oss_provider", "service_tier"),
        # the answers of a model
        *("model_reasoning_effort", "model_reasoning_summary", "model_supports_reasoning_summaries", "model_verbosity"),
        *("model_context_window", "model_max_output_tokens", "model_auto_compact_token_limit"),
        *("hide_agent_reasoning", "show_raw_agent_reasoning"),
        # the login
        *("forced_login_method", "forced_chatgpt_workspace_id", "preferred_auth_method"),
        # limits of the agent, and of data for the service
        *("sandbox_workspace_write", "shell_environment_policy", "allow_login_shell"),
        *("analytics", "feedback", "disable_response_storage"),
    }
)
"""The keys of `config.toml` that a turn uses, besides model and model provider."""


class UserHome(NamedTuple):
    """The parts of the user's CODEX_HOME that a turn uses. `directory` is None if it does not exist."""

    directory: Path | None
    model: str | None
    provider: str | None
    settings: dict[str, Any]

    @property
    def provider_name(self) -> str:
        """The default model provider of a turn."""
        return self.provider or _OPENAI

    def logins(self, provider: str, env: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the files with the login for a model provider. Link them, because the CLI writes to them. (U9)

        `env` is the environment of the turn. A provider that does not require a login of OpenAI must not get one, but
        old releases would send it.
        """
        if self.directory is None:
            return ()
        names = [".env"]
        if not env.get("CODEX_API_KEY") and (provider == _OPENAI or self._asks_for_login(provider)):
            names.append("auth.json")
        return tuple(path for name in names if (path := self.directory / name).is_file())

    def refuse_within(self, reach: Reach) -> None:
        """Raise `TurnError` if an agent with this reach could change the CODEX_HOME or one of its files (U13).

        The other names of a file with hard links are unknown, so such a file is refused too.
        """
        if self.directory is None:
            return
        for path in (self.directory, *(self.directory / name for name in _FILES)):
            if reach.covers(path):
                what = "CODEX_HOME" if path == self.directory else f"{path.name} of CODEX_HOME"
                raise TurnError(
                    f"The agent may write to {what}, and so could change the settings of later turns. "
                    "Use another CODEX_HOME or cwd, or other permissions."
                )
            if path.is_file() and path.stat().st_nlink > 1:
                raise TurnError(
                    f"{path.name} of CODEX_HOME has a hard link, through which the agent could change it. "
                    "Replace it with a copy."
                )

    def writable(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the directories that commands may write to, besides their working directory (U10, U13).

        `env` is the environment of the turn. Raise `TurnError` for a relative path in the settings, because the
        CODEX_HOME differs in each conversation, and for a `.env` with TMPDIR, which would override `env`.
        """
        settings = self.settings.get("sandbox_workspace_write")
        settings = settings if isinstance(settings, dict) else {}
        temporary = env.get("TMPDIR", "")
        roots = [] if settings.get("exclude_slash_tmp") is True else ["/tmp"]  # noqa: S108 - the CLI allows it
        if settings.get("exclude_tmpdir_env_var") is not True:
            self._refuse_tmpdir()
            if temporary.startswith("/"):
                roots.append(temporary)
        more = settings.get("writable_roots")
        for root in more if isinstance(more, list) else ():
            path = os.path.expanduser(root) if isinstance(root, str) else ""  # noqa: PTH111 - any text from the settings
            if not path.startswith("/"):
                raise TurnError(
                    "sandbox_workspace_write.writable_roots in the config.toml of the Codex CLI has a relative path. "
                    "Make it absolute."
                )
            roots.append(path)
        return tuple(roots)

    def _refuse_tmpdir(self) -> None:
        try:
            content = b"" if self.directory is None else read_regular(self.directory / ".env", _LARGEST)
        except FileNotFoundError:
            return
        except (OSError, NotRegularError):
            raise TurnError("The .env of the Codex CLI, in CODEX_HOME, cannot be read. Correct it.") from None
        if _TMPDIR.search(content):
            raise TurnError("The .env of the Codex CLI, in CODEX_HOME, sets TMPDIR. Set it in the environment instead.")

    def _asks_for_login(self, provider: str) -> bool:
        providers = self.settings.get("model_providers")
        settings = providers.get(provider) if isinstance(providers, dict) else None
        return isinstance(settings, dict) and settings.get("requires_openai_auth") is True


def read_user_home(env: Mapping[str, str]) -> UserHome:
    """Read the CODEX_HOME of a run with this environment. Block on files, and raise `TurnError`. (U9)"""
    directory = _directory(env)
    if directory is None:
        return UserHome(None, None, None, {})
    try:
        config = tomllib.loads(read_regular(directory / "config.toml", _LARGEST).decode())
    except FileNotFoundError:
        config = {}
    except (OSError, NotRegularError, ValueError, RecursionError):
        raise TurnError("The config.toml of the Codex CLI, in CODEX_HOME, cannot be read. Correct it.") from None
    settings = {key: value for key, value in config.items() if key in _TAKEN}
    return UserHome(directory, _text(config, "model"), _text(config, "model_provider"), settings)


def _directory(env: Mapping[str, str]) -> Path | None:
    named = env.get("CODEX_HOME")
    if named and not Path(named).is_dir():
        raise TurnError("CODEX_HOME, with login and settings of the Codex CLI, is not a directory. Use another one.")
    place = home_of_cli(env)
    if place is None:
        return None
    directory = Path(place).absolute()
    return directory if directory.is_dir() else None


def _text(config: Mapping[str, Any], key: str) -> str | None:
    value = config.get(key)
    return value if isinstance(value, str) and value else None
