"""List the cases that show the quirks of pi (R1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.releases.subject import Evidence, Played, Runs

__all__ = ["EVIDENCE"]


def _printed(part: bytes) -> Callable[[Played, Runs], bool]:
    return lambda run, _: part in run.stdout


EVIDENCE: Mapping[str, Evidence] = {
    "retries_reported": Evidence("failed_once", _printed(b'"type":"auto_retry_start"')),
    "turn_settles": Evidence("text", _printed(b'"type":"agent_settled"')),
    "cut_answer_is_whole": Evidence("ended_early", lambda run, _: b'"stopReason":"error"' not in run.stdout),
    "cut_answer_retried": Evidence("ended_early", _printed(b'"type":"auto_retry_start"')),
    "errors_without_codes": Evidence("model_unknown", lambda run, _: b"model_not_found" not in run.stdout),
    "messages_repeated": Evidence("pieces", _printed(b'"partial":{"role":"assistant"')),
    "killed_shell_succeeds": Evidence("shell_killed", _printed(b'"isError":false')),
    "system_prompt_printed": Evidence("text", _printed(b'"role":"system"')),
}
"""The quirks that some case shows (TK4), by name."""
