"""Write hooks in the CLI's format, and mark them as trusted: the CLI silently skips untrusted hooks (U10)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from codex_adapter.spaces import Hook
from codex_adapter.turn_errors import TurnError

__all__ = ["hooks_file", "trusted_hooks"]


class _Event(NamedTuple):
    """The two names of an event in the CLI's files."""

    name: str
    key: str
    of_tools: bool = False


_EVENTS: Final = {
    "session_start": _Event("SessionStart", "session_start"),
    "prompt": _Event("UserPromptSubmit", "user_prompt_submit"),
    "before_tool": _Event("PreToolUse", "pre_tool_use", of_tools=True),
    "after_tool": _Event("PostToolUse", "post_tool_use", of_tools=True),
    "stop": _Event("Stop", "stop"),
}
_ESCAPED: Final = re.compile(r"\\[^1-9Z]", re.DOTALL)
_UNKNOWN_TO_THE_CLI: Final = re.compile(r"\(\?(?:[=!(>#]|<[=!]|P=)|\\[1-9Z]")
"""Syntax of Python's regular expressions that the CLI does not support."""


def hooks_file(hooks: Sequence[Hook]) -> dict[str, Any]:
    """Return the content of `hooks.json`. Raise `TurnError` if the CLI does not support a matcher. (U10)"""
    events: dict[str, list[dict[str, Any]]] = {}
    for event, group in _groups(hooks):
        events.setdefault(event.name, []).append(group)
    return {"hooks": events}


def trusted_hooks(hooks: Sequence[Hook], file: Path) -> dict[str, dict[str, str]]:
    """Return the table `hooks.state`, which makes the CLI trust the `hooks.json` at a path without links (U10)."""
    state: dict[str, dict[str, str]] = {}
    counts: dict[str, int] = {}
    for event, group in _groups(hooks):
        number = counts[event.key] = counts.get(event.key, -1) + 1
        state[f"{file}:{event.key}:{number}:0"] = {"trusted_hash": _hash(event, group)}
    return state


def _groups(hooks: Sequence[Hook]) -> Iterator[tuple[_Event, dict[str, Any]]]:
    """Yield each hook in a separate group, in order."""
    for hook in hooks:
        event = _EVENTS[hook.event]
        group: dict[str, Any] = {"hooks": [{"type": "command", "command": hook.command, "timeout": hook.timeout}]}
        if event.of_tools and hook.matcher is not None:
            if not _is_expression(hook.matcher):
                raise TurnError(f"The matcher of hook {hook.name} is not a valid regular expression. Correct it.")
            if _UNKNOWN_TO_THE_CLI.search(_ESCAPED.sub("", hook.matcher)):
                raise TurnError(
                    f"The matcher of hook {hook.name} has syntax that the Codex CLI does not support. "
                    "Remove lookaround, references to groups, comments and \\Z."
                )
            group["matcher"] = hook.matcher
        yield event, group


def _is_expression(matcher: str) -> bool:
    try:
        re.compile(matcher)
    except (re.error, Warning, RecursionError, OverflowError):
        return False
    return True


def _hash(event: _Event, group: dict[str, Any]) -> str:
    """Return the digest that the CLI compares. It covers the hook in the form in which the CLI parses it."""
    understood = {**group, "event_name": event.key, "hooks": [{**hook, "async": False} for hook in group["hooks"]]}
    text = json.dumps(understood, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
