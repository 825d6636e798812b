"""Check the quirks that the package lists for a release against its observed behaviour (R1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from codex_adapter.agents.codex.releases import QUIRKS
from codex_adapter.runtime.programs import Version

from .play import Played
from .trial import Finding, Trial

__all__ = ["EVIDENCE", "check_quirks"]

Runs = Mapping[str, Played]


class _Evidence(NamedTuple):
    """The run that shows a quirk, and whether that run does."""

    scenario: str
    shows: Callable[[Played, Runs], bool]


def _printed(*parts: bytes) -> Callable[[Played, Runs], bool]:
    return lambda run, _: any(all(part in line for part in parts) for line in run.stdout.split(b"\n"))


def _printed_times(part: bytes, least: int) -> Callable[[Played, Runs], bool]:
    return lambda run, _: run.stdout.count(part) >= least


def _ended(code: int) -> Callable[[Played, Runs], bool]:
    return lambda run, _: run.returncode == code


def _usage_grows(resumed: Played, runs: Runs) -> bool:
    return b'"input_tokens":1100' in resumed.stdout and b'"input_tokens":100,' in runs["resume_id"].stdout


STARTED, COMPLETED = b'{"type":"item.started"', b'{"type":"item.completed"'

EVIDENCE: Mapping[str, _Evidence] = {
    "no_session_starts_a_thread": _Evidence("resume_badid", _printed(b'"thread.started"')),
    "unknown_session_starts_a_thread": _Evidence("resume_unknown", _printed(b'"thread.started"')),
    "usage_of_thread": _Evidence("resume_id.resume", _usage_grows),
    "web_search_id_twice": _Evidence("web_search", _printed(b'"id":"item_', b'"type":"web_search","id":"ws_')),
    "web_search_started": _Evidence("web_search", _printed(STARTED, b'"web_search"')),
    "file_change_started": _Evidence("patch_sh_add", _printed(STARTED, b'"file_change"')),
    "reasoning_parts_apart": _Evidence("reasoning", _printed_times(b'"type":"reasoning"', 3)),
    "output_cut": _Evidence("shell_long_output", lambda run, _: 30_000 < len(run.stdout) < 100_000),
    "plan_not_offered": _Evidence("plan", lambda run, _: b"todo_list" not in run.stdout),
    "collab": _Evidence("collab", _printed(b'"collab_tool_call"')),
    "sigint_is_success": _Evidence("sig_int_cmd", _ended(0)),
    "mcp_failure_is_status_1": _Evidence("mcp_dies", _ended(1)),
    "mcp_required": _Evidence("mcp_required_dies", lambda run, _: run.returncode == 1 and run.stdout == b""),
    "reconnects_for_ever": _Evidence("unreachable", lambda run, _: "idle" in (run.error or "")),
    "prompt_is_bounded": _Evidence("prompt_too_long", _ended(1)),
    "chat_refused": _Evidence("wire_api_chat", lambda run, _: run.returncode == 1 and run.stdout == b""),
    "reprints_after_reconnect": _Evidence("stream_end_no_completed", _printed_times(b'"agent_message"', 2)),
}
"""The quirks that some case shows (TK4), by name; the others are seen by chance, or take what no case has."""


def check_quirks(version: Version, trials: Sequence[Trial | Finding]) -> Iterator[Finding]:
    """Return a finding for each quirk that the table has otherwise than the release; one without its run is skipped."""
    runs = {trial.played.scenario: trial.played for trial in trials if isinstance(trial, Trial)}
    for quirk in QUIRKS:
        evidence = EVIDENCE.get(quirk.name)
        run = runs.get(evidence.scenario) if evidence is not None else None
        if evidence is None or run is None:
            continue
        if evidence.shows(run, runs) != quirk.holds(version):
            told = "the table says that it holds" if quirk.holds(version) else "the table says that it does not hold"
            yield Finding(evidence.scenario, f"the quirk {quirk.name} is not so", f"{told} for this release")
