"""Test the outcome of each recording of the real CLI, and what its events report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from codex_adapter import Completion, Event, Pipeline
from codex_adapter.agents.claude.agent import AGENT
from codex_adapter.agents.claude.releases import RELEASES
from codex_adapter.events import AgentInfo, ExitStatus, RateLimit, Retry, TokenUsage, ToolCall
from codex_adapter.hints import Hint
from tests.releases.subject import version_of

from ...recordings import each_recording

HINTS: dict[str, Hint] = {
    "max_turns": "turn_limit",
    "max_budget": "budget_limit",
    "unauthorized": "not_logged_in",
    "forbidden": "forbidden",
    "model_unknown": "model_unknown",
    "rate_limited": "rate_limited",
    "server_error": "server_error",
    "overloaded": "overloaded",
    "not_reached": "no_network",
    "answer_cut": "stream_cut",
    "policy_refused": "policy_refused",
    "schema_ignored": "schema_ignored",
}
"""The hints of the runs whose turn failed; `interrupted` has none."""


def decoded(recording: Path, returncode: int) -> tuple[list[Event], Completion]:
    pipeline = Pipeline(AGENT.decoder)
    events = pipeline.receive_data(recording.read_bytes()) + pipeline.receive_eof()
    return events, pipeline.completion(ExitStatus.from_returncode(returncode))


def quirks_of(recording: Path) -> Collection[str]:
    return RELEASES.quirks_of(version_of(recording.parent.name))


def turn_of(recording: Path) -> str:
    """Return the true outcome of the turn of a recording."""
    quirks = quirks_of(recording)
    if recording.stem == "interrupted":
        return "cut_off" if "sigint_without_result" in quirks else "failed"
    if recording.stem == "answer_cut" and "cut_answer_is_success" in quirks:
        return "completed"
    return "failed" if recording.stem in HINTS else "completed"


@pytest.mark.rule("F9", "F11", "F12", "AG4", "AG8")
@each_recording("claude_code")
def test_the_outcome_is_the_true_one(recording: Path, returncode: int) -> None:
    events, completion = decoded(recording, returncode)
    turn = turn_of(recording)
    assert completion.turn == turn
    refused = recording.stem == "read_only" and "read_only_without_commands" in quirks_of(recording)
    cause = "sandbox_unavailable" if refused else None
    assert completion.hint == (HINTS.get(recording.stem) if turn == "failed" else cause)
    assert completion.ok == (turn == "completed" and not refused)
    assert [event for event in events if event.kind == "unknown"] == []
    assert (completion.final_text is None) == (turn != "completed")


@pytest.mark.rule("M3", "M9")
@each_recording("claude_code")
def test_each_call_has_exactly_one_result(recording: Path, returncode: int) -> None:
    ids: dict[str, list[str | None]] = {"tool_call": [], "tool_result": []}
    for event in decoded(recording, returncode)[0]:
        if isinstance(event.data, ToolCall) and event.data.tool.phase != "delta":
            ids[event.kind].append(event.data.tool.tool_use_id)
    assert sorted(map(str, ids["tool_result"])) == sorted(map(str, ids["tool_call"]))


@pytest.mark.rule("F15")
@each_recording("claude_code")
def test_the_tokens_of_a_run_that_is_stopped_at_any_line_are_a_lower_bound(recording: Path, returncode: int) -> None:
    pipeline = Pipeline(AGENT.decoder)
    seen: list[Mapping[str, int]] = []
    for line in recording.read_bytes().splitlines(keepends=True):
        pipeline.receive_data(line)
        seen.append(pipeline.completion(ExitStatus(signal="SIGKILL")).run_usage or {})
    for before, after in pairwise([*seen, decoded(recording, returncode)[1].run_usage or {}]):
        assert all(after.get(name, 0) >= count for name, count in before.items())


@pytest.mark.rule("F13")
@each_recording("claude_code")
def test_the_cost_is_the_sum_of_the_turns(recording: Path, returncode: int) -> None:
    events, completion = decoded(recording, returncode)
    turns = [event.data.cost_usd for event in events if isinstance(event.data, TokenUsage)]
    assert (completion.cost_usd is not None) == (b'"total_cost_usd"' in recording.read_bytes())
    if completion.turn == "completed":
        assert completion.cost_usd == pytest.approx(sum(cost or 0 for cost in turns))
    if (recording.parent.name, recording.stem) == ("2.1.330", "resume.again"):
        assert b'"total_cost_usd":0.003232' in recording.read_bytes()
        assert completion.cost_usd == 0.001616


@pytest.mark.rule("M12", "M13", "M14")
@each_recording("claude_code")
def test_what_the_cli_reports_of_itself_and_of_the_service_is_in_a_facet(recording: Path, returncode: int) -> None:
    facets = [type(event.data) for event in decoded(recording, returncode)[0]]
    data = recording.read_bytes()
    assert facets.count(Retry) == data.count(b'"subtype":"api_retry"')
    assert facets.count(RateLimit) == data.count(b'"type":"rate_limit_event"')
    assert (AgentInfo in facets) == (b'"subtype":"init"' in data)
