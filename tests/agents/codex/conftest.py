"""Provide the list of texts that an error about a bad line may contain."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

FIELDS = frozenset(
    {
        *("type", "thread_id", "turn_id", "conversation_id", "item", "usage", "error", "message", "id", "text"),
        *("command", "aggregated_output", "exit_code", "status", "stdout", "stderr", "changes", "path", "kind"),
        *("diff", "server", "tool", "arguments", "result", "sender_thread_id", "receiver_thread_ids", "prompt"),
        *("agents_states", "query", "action", "items", "completed", "delta"),
    }
)
MESSAGE = re.compile(
    r"codex stream (?:"
    r"parse error \(redacted\): (?:malformed JSON at byte [0-9]+|invalid UTF-8|not an object|nesting too deep"
    r"|number out of range|line longer than [0-9]+ bytes)"
    r"|normalize error \(redacted\): (?:(?:missing field|wrong type for field) (?P<field>[a-z_]+)|wrong shape"
    r"|nesting too deep)"
    r") \(line_bytes=[0-9]+\)"
)


@pytest.fixture(scope="session")
def is_canonical() -> Callable[[str], bool]:
    """Whether a message is a canonical text of a bad line, its reason from the closed list."""

    def check(message: str) -> bool:
        found = MESSAGE.fullmatch(message)
        return found is not None and (found["field"] is None or found["field"] in FIELDS)

    return check
