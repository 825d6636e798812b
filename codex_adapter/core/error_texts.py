"""Return the canonical text of each failure, without any text of a line, of stderr or of a library's message.

These texts and the texts of `BackendError` itself are the only errors that a run can show. The reasons inside them are
a closed list (X2, X3).
"""

from __future__ import annotations

from codex_adapter.events import ExitStatus

__all__ = [
    "NO_SESSION_FOUND",
    "SESSION_NOT_FOUND",
    "idle_timeout_text",
    "non_zero_exit_text",
    "normalize_error_text",
    "parse_error_text",
]

SESSION_NOT_FOUND = "session not found"
NO_SESSION_FOUND = "no session found"


def parse_error_text(agent_kind: str, reason: str, line_bytes: int) -> str:
    """Return the text for a line that is not a JSON object. `reason` is a text of ours; `line_bytes` is the length
    (X2)."""
    return f"{agent_kind} stream parse error (redacted): {reason} (line_bytes={line_bytes})"


def normalize_error_text(agent_kind: str, reason: str, line_bytes: int) -> str:
    """Return the text for an object that is not a line of the agent; `reason` is a text of ours (X2)."""
    return f"{agent_kind} stream normalize error (redacted): {reason} (line_bytes={line_bytes})"


def idle_timeout_text(agent_kind: str, seconds: float) -> str:
    """Return the text for a stream without progress for `seconds` (X2, X4)."""
    return f"{agent_kind} stream idle timeout: {_duration(seconds)}"


def non_zero_exit_text(agent_kind: str, status: ExitStatus) -> str:
    """Return the text for an agent that failed or was killed (X2, X4)."""
    return f"{agent_kind} exited non-zero: {status} (stderr redacted)"


def _duration(seconds: float) -> str:
    """Format whole seconds as `30s`, others as `1.5s`, below one second as `250ms` (X4)."""
    if seconds < 1:
        return f"{seconds * 1000:.10g}ms"
    return f"{seconds:.10g}s"
