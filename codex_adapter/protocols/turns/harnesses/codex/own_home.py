"""The CODEX_HOME of whoever runs turns: what of it holds for every turn, and nothing else of it does (U9)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from codex_adapter.protocols.turns.harness import TurnError
from codex_adapter.protocols.turns.regular import NotRegularError, read_regular

__all__ = ["OwnHome", "read_own_home"]

_OPENAI: Final = "openai"
_LARGEST: Final = 4 * 1024 * 1024
_TAKEN: Final = frozenset(
    {
        # how a model is reached
        *("model_providers", "openai_base_url", "chatgpt_base_url", "oss_provider", "service_tier"),
        # how it answers
        *("model_reasoning_effort", "model_reasoning_summary", "model_supports_reasoning_summaries", "model_verbosity"),
        *("model_context_window", "model_max_output_tokens", "model_auto_compact_token_limit"),
        *("hide_agent_reasoning", "show_raw_agent_reasoning"),
        # who asks
        *("forced_login_method", "forced_chatgpt_workspace_id", "preferred_auth_method"),
        # what is kept from the agent, and from the service
        *("sandbox_workspace_write", "shell_environment_policy", "allow_login_shell"),
        *("analytics", "feedback", "disable_response_storage"),
    }
)
"""The keys of `config.toml` that a turn takes over, besides model and model provider."""


class OwnHome(NamedTuple):
    """What a turn takes from it: its directory, None where there is none, its choice of a model, and settings."""

    directory: Path | None
    model: str | None
    provider: str | None
    settings: dict[str, Any]

    @property
    def provider_name(self) -> str:
        """The model provider, where a turn names none."""
        return self.provider or _OPENAI

    def logins(self, provider: str, env: Mapping[str, str]) -> tuple[Path, ...]:
        """The files that a turn with this model provider logs in with, to be linked: the CLI writes into them (U9).

        `env` is the environment of the turn. A provider that asks for no login of OpenAI is not to be sent one, which
        old releases would do.
        """
        if self.directory is None:
            return ()
        names = [".env"]
        if not env.get("CODEX_API_KEY") and (provider == _OPENAI or self._asks_for_login(provider)):
            names.append("auth.json")
        return tuple(path for name in names if (path := self.directory / name).is_file())

    def _asks_for_login(self, provider: str) -> bool:
        providers = self.settings.get("model_providers")
        settings = providers.get(provider) if isinstance(providers, dict) else None
        return isinstance(settings, dict) and settings.get("requires_openai_auth") is True


def read_own_home(env: Mapping[str, str]) -> OwnHome:
    """Read the home that a run with this environment would have (U9). Blocks; raises `TurnError`."""
    directory = _directory(env)
    if directory is None:
        return OwnHome(None, None, None, {})
    try:
        config = tomllib.loads(read_regular(directory / "config.toml", _LARGEST).decode())
    except FileNotFoundError:
        config = {}
    except (OSError, NotRegularError, ValueError, RecursionError):
        raise TurnError("the config.toml of the Codex CLI, in CODEX_HOME, cannot be read; mend it") from None
    settings = {key: value for key, value in config.items() if key in _TAKEN}
    return OwnHome(directory, _text(config, "model"), _text(config, "model_provider"), settings)


def _directory(env: Mapping[str, str]) -> Path | None:
    named = env.get("CODEX_HOME")
    if named and not Path(named).is_dir():
        raise TurnError("CODEX_HOME, where login and settings of the Codex CLI are, is no directory; name another one")
    place = named or (f"{env['HOME']}/.codex" if env.get("HOME") else None)
    if place is None:
        return None
    directory = Path(place).absolute()
    return directory if directory.is_dir() else None


def _text(config: Mapping[str, Any], key: str) -> str | None:
    value = config.get(key)
    return value if isinstance(value, str) and value else None
