"""Write hooks in the CLI's form, and the trust without which the CLI silently skips them (U10)."""

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
    """The CLI's two names of an event."""

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
"""Syntax that Python's regular expressions have and the CLI's do not."""


def hooks_file(hooks: Sequence[Hook]) -> dict[str, Any]:
    """Return the content of `hooks.json`. Raises `TurnError` for a matcher that the CLI does not support (U10)."""
    events: dict[str, list[dict[str, Any]]] = {}
    for event, group in _groups(hooks):
        events.setdefault(event.name, []).append(group)
    return {"hooks": events}


def trusted_hooks(hooks: Sequence[Hook], file: Path) -> dict[str, dict[str, str]]:
    """Return the table `hooks.state` by which the CLI trusts a `hooks.json` at a path without links (U10)."""
    state: dict[str, dict[str, str]] = {}
    counts: dict[str, int] = {}
    for event, group in _groups(hooks):
        number = counts[event.key] = counts.get(event.key, -1) + 1
        state[f"{file}:{event.key}:{number}:0"] = {"trusted_hash": _hash(event, group)}
    return state


def _groups(hooks: Sequence[Hook]) -> Iterator[tuple[_Event, dict[str, Any]]]:
    """Yield each hook in a group of its own, in order."""
    for hook in hooks:
        event = _EVENTS[hook.event]
        group: dict[str, Any] = {"hooks": [{"type": "command", "command": hook.command, "timeout": hook.timeout}]}
        if event.of_tools and hook.matcher is not None:
            if not _is_expression(hook.matcher):
                raise TurnError(f"hook {hook.name}: its matcher is no regular expression; mend it")
            if _UNKNOWN_TO_THE_CLI.search(_ESCAPED.sub("", hook.matcher)):
                raise TurnError(
                    f"hook {hook.name}: its matcher has what the Codex CLI does not know; "
                    "do without lookaround, references to groups, comments and \\Z"
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
    """Return the digest that the CLI compares: of the hook as it reads it."""
    understood = {**group, "event_name": event.key, "hooks": [{**hook, "async": False} for hook in group["hooks"]]}
    text = json.dumps(understood, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
