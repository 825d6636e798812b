"""Translate notices of the CLI into facets: retries, limits of the account, ended tasks (M9, M12, M13)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from codex_adapter.agents.claude.stream.diagnosis import hint_of_error
from codex_adapter.agents.claude.stream.lines import McpServer, RateLimitInfo, System
from codex_adapter.core.token_counts import PLAIN_NAME
from codex_adapter.events import RateLimit, RateLimitStatus, Retry, Tool, ToolPhase, ToolStatus

__all__ = ["LIMIT_MESSAGES", "QUIET", "RETRYING", "ended_tool", "missing_servers", "rate_limit", "retry"]

RETRYING: Final = "model request failed, trying again"
LIMIT_MESSAGES: Final[Mapping[RateLimitStatus, str]] = {
    "warning": "limit of the account nearly reached",
    "rejected": "limit of the account reached",
}
QUIET: Final = frozenset(
    {
        *("thinking_tokens", "ui_invalidate", "session_title_changed", "files_persisted", "local_command_output"),
        *("task_started", "task_progress", "task_updated", "background_tasks_changed", "hook_started", "hook_progress"),
        "model_refusal_no_fallback",
    }
)
"""Subtypes without an event: other lines have what they report."""

_LIMITS: Final[Mapping[str | None, RateLimitStatus]] = {
    "allowed": "allowed",
    "allowed_warning": "warning",
    "rejected": "rejected",
}
_MISSING: Final[Mapping[str | None, str]] = {"failed": "failed", "needs-auth": "needs a login"}
_MOST_SERVERS: Final = 64
_EXIT_CODE: Final = re.compile(r"(?:completed \(exit code |failed with exit code )(\d{1,3})\)?\Z")
_ENDS: Final[Mapping[str | None, ToolStatus]] = {
    "completed": "completed",
    "failed": "failed",
    "stopped": "failed",
    "killed": "failed",
}


def retry(line: System) -> Retry:
    """Return the facet of a retry, with the hint of the failure (M12)."""
    delay = line.retry_delay_ms
    return Retry(
        line.attempt,
        line.max_retries,
        None if delay is None or not 0 <= delay < 1e12 else round(delay / 1000, 3),
        line.error_status,
        hint_of_error(line.error, line.error_status, ""),
    )


def rate_limit(info: RateLimitInfo, mask: Callable[[str], str]) -> RateLimit:
    """Return the facet of a limit of the account (M13)."""
    status = _LIMITS.get(info.status, "unknown")
    window = None if info.window is None else PLAIN_NAME.match(mask(info.window))
    resets_at, used = info.resets_at, info.utilization
    return RateLimit(
        status,
        None if window is None else window[0],
        int(resets_at) if resets_at is not None and 0 <= resets_at < 1e15 else None,
        used if used is not None and 0 <= used < 1e6 else None,
        "quota_exceeded" if status == "rejected" else None,
    )


def missing_servers(servers: Sequence[McpServer]) -> list[str]:
    """Return a message for each MCP server whose tools are missing, at most 64 (AG10)."""
    missing = [server for server in servers if server.status in _MISSING]
    return [f"MCP server {_MISSING[server.status]}: {server.name}" for server in missing[:_MOST_SERVERS]]


def ended_tool(opened: Tool, line: System) -> Tool:
    """Return the tool of a call that continued in the background, at its end (M9)."""
    status = _ENDS.get(line.status, "unknown")
    found = None
    if opened.kind == "command_execution" and line.status in ("completed", "failed"):
        found = _EXIT_CODE.search(line.summary or "")
    phase: ToolPhase = "fail" if status == "failed" else "complete"
    return replace(opened, phase=phase, status=status, exit_code=None if found is None else int(found[1]))
