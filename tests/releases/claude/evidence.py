"""List the cases that show the quirks of Claude Code (R1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.releases.subject import Evidence, Played, Runs

__all__ = ["EVIDENCE"]


def _printed(part: bytes) -> Callable[[Played, Runs], bool]:
    return lambda run, _: part in run.stdout


def _ended_well(run: Played, _: Runs) -> bool:
    return run.returncode == 0


EVIDENCE: Mapping[str, Evidence] = {
    "cut_answer_is_success": Evidence("answer_cut", _ended_well),
    "limit_is_no_error": Evidence("max_turns", _ended_well),
    "sigint_without_result": Evidence("interrupted", lambda run, _: b'"type":"result"' not in run.stdout),
    "plan_by_todo_write": Evidence("plan", _printed(b"Todos have been modified")),
    "retries_reported": Evidence("overloaded", _printed(b'"subtype":"api_retry"')),
    "tasks_reported": Evidence("sub_agent", _printed(b'"subtype":"task_started"')),
    "requests_reported": Evidence("partial_messages", _printed(b'"subtype":"status"')),
    "sub_agents_in_background": Evidence("sub_agent", lambda run, _: run.stdout.count(b'"type":"result"') > 1),
    "thinking_counted": Evidence("reasoning", _printed(b'"subtype":"thinking_tokens"')),
    "answer_with_schema_ends_turn": Evidence("structured_output", lambda run, _: run.requests == 1),
}
"""The quirks that some case shows (TK4), by name."""
