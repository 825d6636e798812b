"""List the cases that show the quirks of the Codex CLI (R1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.releases.subject import Evidence, Played, Runs

__all__ = ["EVIDENCE"]


def _printed(*parts: bytes) -> Callable[[Played, Runs], bool]:
    return lambda run, _: any(all(part in line for part in parts) for line in run.stdout.split(b"\n"))


def _printed_times(part: bytes, least: int) -> Callable[[Played, Runs], bool]:
    return lambda run, _: run.stdout.count(part) >= least


def _ended(code: int) -> Callable[[Played, Runs], bool]:
    return lambda run, _: run.returncode == code


def _usage_grows(resumed: Played, runs: Runs) -> bool:
    return b'"input_tokens":1100' in resumed.stdout and b'"input_tokens":100,' in runs["resume_id"].stdout


STARTED, COMPLETED = b'{"type":"item.started"', b'{"type":"item.completed"'

EVIDENCE: Mapping[str, Evidence] = {
    "no_session_starts_a_thread": Evidence("resume_badid", _printed(b'"thread.started"')),
    "unknown_session_starts_a_thread": Evidence("resume_unknown", _printed(b'"thread.started"')),
    "usage_of_thread": Evidence("resume_id.resume", _usage_grows),
    "web_search_id_twice": Evidence("web_search", _printed(b'"id":"item_', b'"type":"web_search","id":"ws_')),
    "web_search_started": Evidence("web_search", _printed(STARTED, b'"web_search"')),
    "file_change_started": Evidence("patch_sh_add", _printed(STARTED, b'"file_change"')),
    "reasoning_parts_apart": Evidence("reasoning", _printed_times(b'"type":"reasoning"', 3)),
    "output_cut": Evidence("shell_long_output", lambda run, _: 30_000 < len(run.stdout) < 100_000),
    "plan_not_offered": Evidence("plan", lambda run, _: b"todo_list" not in run.stdout),
    "collab": Evidence("collab", _printed(b'"collab_tool_call"')),
    "sigint_is_success": Evidence("sig_int_cmd", _ended(0)),
    "mcp_failure_is_status_1": Evidence("mcp_dies", _ended(1)),
    "mcp_required": Evidence("mcp_required_dies", lambda run, _: run.returncode == 1 and run.stdout == b""),
    "reconnects_for_ever": Evidence("unreachable", lambda run, _: "idle" in (run.error or "")),
    "prompt_is_bounded": Evidence("prompt_too_long", _ended(1)),
    "chat_refused": Evidence("wire_api_chat", lambda run, _: run.returncode == 1 and run.stdout == b""),
    "reprints_after_reconnect": Evidence("stream_end_no_completed", _printed_times(b'"agent_message"', 2)),
}
"""The quirks that some case shows (TK4), by name; the others are seen by chance, or take what no case has."""
