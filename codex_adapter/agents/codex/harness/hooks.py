"""Write hooks in the CLI's format, and mark them as trusted: the CLI silently skips untrusted hooks (U10)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from codex_adapter.harness.hooks import hook_groups, hooks_by_event
from codex_adapter.spaces import Hook

__all__ = ["hooks_file", "trusted_hooks"]

_ESCAPED: Final = re.compile(r"\\[^1-9Z]", re.DOTALL)
_UNKNOWN_TO_THE_CLI: Final = re.compile(r"\(\?(?:[=!(>#]|<[=!]|P=)|\\[1-9Z]")
"""Syntax of Python's regular expressions that the CLI does not support."""
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")


def hooks_file(hooks: Sequence[Hook]) -> dict[str, Any]:
    """Return the content of `hooks.json`. Raise `TurnError` if the CLI does not support a matcher. (U10)"""
    return {"hooks": hooks_by_event(_groups(hooks))}


def trusted_hooks(hooks: Sequence[Hook], file: Path) -> dict[str, dict[str, str]]:
    """Return the table `hooks.state`, which makes the CLI trust the `hooks.json` at a path without links (U10)."""
    state: dict[str, dict[str, str]] = {}
    counts: dict[str, int] = {}
    for event, group in _groups(hooks):
        key = _CAPITAL.sub("_", event).lower()
        number = counts[key] = counts.get(key, -1) + 1
        state[f"{file}:{key}:{number}:0"] = {"trusted_hash": _hash(key, group)}
    return state


def _groups(hooks: Sequence[Hook]) -> Iterator[tuple[str, dict[str, Any]]]:
    return hook_groups(hooks, _unsupported)


def _unsupported(matcher: str) -> str | None:
    if _UNKNOWN_TO_THE_CLI.search(_ESCAPED.sub("", matcher)):
        return (
            "has syntax that the Codex CLI does not support. Remove lookaround, references to groups, comments and \\Z."
        )
    return None


def _hash(key: str, group: dict[str, Any]) -> str:
    """Return the digest that the CLI compares. It covers the hook in the form in which the CLI parses it."""
    understood = {**group, "event_name": key, "hooks": [{**hook, "async": False} for hook in group["hooks"]]}
    text = json.dumps(understood, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
