"""List the advice on failures and the examples of commands that are only true for pi (F9, C23)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from codex_adapter.hints import Hint

__all__ = ["ADVICE", "EXAMPLES", "INSTALL", "LOGIN"]

INSTALL: Final = "npm install -g @earendil-works/pi-coding-agent"
LOGIN: Final = (
    "Start `pi` in a terminal and type /login, set the variable of your provider, such as ANTHROPIC_API_KEY or "
    "OPENAI_API_KEY, or write a provider to models.json."
)
_DOCTOR: Final = "`codex-adapter doctor --agent pi`"

ADVICE: Final[Mapping[Hint, str]] = MappingProxyType(
    {
        "not_logged_in": (
            "The login is missing or refused. Type /login in `pi`, or set the key of your provider, such as "
            "OPENAI_API_KEY."
        ),
        "endpoint_unknown": "The server does not know the address. Check the provider's `baseUrl` in models.json.",
        "no_network": "The service cannot be reached. Check the network, the proxy and `baseUrl` in models.json.",
        "configuration_broken": (
            "The provider is unknown, or models.json is invalid. `pi --list-models` lists the providers."
        ),
        "flag_unknown": f"This release of pi does not support the command line. Run {_DOCTOR}.",
        "session_unknown": "This directory does not have the session. Start a new session, or fork it with --fork.",
        "cli_not_found": f"pi was not found. Install it with `{INSTALL}`, or set its path in PI_BINARY.",
        "cli_not_executable": f"pi cannot be executed. It needs Node.js 22.19 or newer. Run {_DOCTOR} to check it.",
        "home_missing": (
            "config.agent_dir or PI_CODING_AGENT_DIR is not a directory. Create the directory or name another one."
        ),
    }
)
"""The sentences for `Agent.advice`."""

EXAMPLES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "run": ("codex-adapter run --agent pi --provider anthropic --model claude-sonnet-4-5 'What does this do?'",),
        "replay": ("pi -p --mode json 'Say hello' < /dev/null | codex-adapter replay --agent pi -",),
        "doctor": (
            "codex-adapter doctor --agent pi --pi ./node_modules/.bin/pi",
            "codex-adapter doctor --agent pi --probe --pi ./new/node_modules/.bin/pi",
        ),
    }
)
"""The command lines for `Agent.examples`."""
