"""Write hooks in the format that CLIs share: groups of commands by event (U10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from codex_adapter.spaces import Hook
from codex_adapter.turn_errors import TurnError

__all__ = ["hook_groups", "hooks_by_event"]

_EVENTS: Final = {
    "session_start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "before_tool": "PreToolUse",
    "after_tool": "PostToolUse",
    "stop": "Stop",
}
_OF_TOOLS: Final = frozenset({"before_tool", "after_tool"})


def hook_groups(
    hooks: Sequence[Hook], unsupported: Callable[[str], str | None]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each hook in a separate group, in order, with the name of its event in the CLI.

    `unsupported` returns the error for a matcher that the CLI does not support, or None; the error continues "The
    matcher of hook NAME ...". Raise `TurnError` for a matcher that is not valid.
    """
    for hook in hooks:
        group: dict[str, Any] = {"hooks": [{"type": "command", "command": hook.command, "timeout": hook.timeout}]}
        if hook.event in _OF_TOOLS and hook.matcher is not None:
            error = unsupported(hook.matcher) if _is_expression(hook.matcher) else _INVALID
            if error is not None:
                raise TurnError(f"The matcher of hook {hook.name} {error}")
            group["matcher"] = hook.matcher
        yield _EVENTS[hook.event], group


def hooks_by_event(groups: Iterator[tuple[str, dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Return the value of `hooks` in the CLI's settings."""
    events: dict[str, list[dict[str, Any]]] = {}
    for event, group in groups:
        events.setdefault(event, []).append(group)
    return events


_INVALID: Final = "is not a valid regular expression. Correct it."


def _is_expression(matcher: str) -> bool:
    try:
        re.compile(matcher)
    except (re.error, Warning, RecursionError, OverflowError):
        return False
    return True
