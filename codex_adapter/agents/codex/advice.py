"""List the advice on failures and the examples in the help that are only true for the Codex CLI (F9, C23)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from codex_adapter.hints import Hint

__all__ = ["ADVICE", "EXAMPLES"]

ADVICE: Final[Mapping[Hint, str]] = MappingProxyType(
    {
        "not_logged_in": (
            "The login is missing or refused. Run `codex-adapter login`, set CODEX_API_KEY, or set the key of your "
            "model provider."
        ),
        "rate_limited": (
            "The service received too many requests. Wait and try again. With a CLI before 0.155, check the quota too."
        ),
        "endpoint_unknown": ("The server does not know the requested address. Check `base_url` of the model provider."),
        "request_rejected": "The service rejected the request. Check model, reasoning effort and output schema.",
        "configuration_broken": (
            "The configuration of the CLI is invalid. Check `config.toml` and the values of `--config`."
        ),
        "flag_unknown": "This release of the CLI does not support the command line. Run `codex-adapter doctor`.",
        "sandbox_unavailable": (
            "The CLI cannot start its sandbox, so commands fail. Run `codex-adapter doctor` for the next step."
        ),
        "cli_not_found": "The Codex CLI was not found. Install it, or set its path in CODEX_BINARY.",
        "cli_not_executable": "The Codex CLI cannot be executed. Run `codex-adapter doctor` to check its file.",
        "home_missing": "config.codex_home or CODEX_HOME is not a directory. Create the directory or name another one.",
    }
)
"""The sentences for `Agent.advice`."""

EXAMPLES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "run": ("codex-adapter run --model gpt-5.1-codex 'Fix the failing test'",),
        "replay": ("codex exec --json 'Say hello' | codex-adapter replay -",),
        "doctor": (
            "codex-adapter doctor --codex ./node_modules/.bin/codex",
            "codex-adapter doctor --probe --codex ./new/node_modules/.bin/codex",
        ),
        "demo": ("codex-adapter demo --codex ./node_modules/.bin/codex",),
        "login": ("printenv OPENAI_API_KEY | codex-adapter login -- --with-api-key",),
    }
)
"""The command lines for `Agent.examples`."""
