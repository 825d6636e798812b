"""List the advice on failures and the examples in the help that are only true for Claude Code (F9, C23)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from codex_adapter.hints import Hint

__all__ = ["ADVICE", "EXAMPLES"]

_DOCTOR: Final = "`codex-adapter doctor --agent claude_code`"

ADVICE: Final[Mapping[Hint, str]] = MappingProxyType(
    {
        "not_logged_in": (
            "The login is missing or refused. Run `codex-adapter login --agent claude_code`, or set ANTHROPIC_API_KEY."
        ),
        "answer_incomplete": (
            "The answer reached a limit of output tokens. Raise CLAUDE_CODE_MAX_OUTPUT_TOKENS, or split the task."
        ),
        "no_network": "The service cannot be reached. Check the network, the proxy and ANTHROPIC_BASE_URL.",
        "configuration_broken": "The settings are invalid. Check `settings.json` of the user and of the project.",
        "flag_unknown": f"This release of Claude Code does not support the command line. Run {_DOCTOR}.",
        "sandbox_unavailable": f"Claude Code cannot start its sandbox. Run {_DOCTOR} for the next step.",
        "budget_limit": "The run used up its `--max-budget-usd`. Raise it or split the task into smaller parts.",
        "turn_limit": "The run reached its `--max-turns`. Raise it or split the task into smaller parts.",
        "cli_not_found": "Claude Code was not found. Install it, or set its path in CLAUDE_BINARY.",
        "cli_not_executable": f"Claude Code cannot be executed. Run {_DOCTOR} to check its file.",
        "home_missing": (
            "config.config_dir or CLAUDE_CONFIG_DIR is not a directory. Create the directory or name another one."
        ),
    }
)
"""The sentences for `Agent.advice`."""

EXAMPLES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "run": ("codex-adapter run --agent claude_code --model sonnet --max-turns 20 'Fix the failing test'",),
        "replay": (
            "claude -p --output-format stream-json --verbose 'Say hello' | codex-adapter replay --agent claude_code -",
        ),
        "doctor": (
            "codex-adapter doctor --agent claude_code --claude ./node_modules/.bin/claude",
            "codex-adapter doctor --agent claude_code --probe --claude ./new/node_modules/.bin/claude",
        ),
        "login": ("codex-adapter login --agent claude_code -- setup-token",),
    }
)
"""The command lines for `Agent.examples`."""
