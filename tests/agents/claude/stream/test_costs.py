"""Test the costs of a run, from results of releases that count in different ways."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter.events import TokenUsage

from ....rows import rows
from .stream_lines import DONE, INIT, run

NEW = {**INIT, "claude_code_version": "2.1.330"}
OLD = {**INIT, "claude_code_version": "2.1.152"}


def since(*costs: float, **more: Any) -> dict[str, Any]:
    return {f"model-{number}": {"costUSD": cost, **more} for number, cost in enumerate(costs)}


def result(**more: Any) -> dict[str, Any]:
    return {**DONE, "usage": {"input_tokens": 1}, **more}


def costs(*lines: Any) -> tuple[list[float | None], float | None]:
    """Return the cost of each completed turn and of the run."""
    events, completion = run(*lines)
    return [event.data.cost_usd for event in events if isinstance(event.data, TokenUsage)], completion.cost_usd


@pytest.mark.rule("F13", "AG10")
def test_what_each_model_cost_since_the_last_result_is_the_cost_of_a_turn() -> None:
    first = result(total_cost_usd=7.75, model_usage_since_last_result=since(0.25, 0.5, costBasis="list"))
    second = result(total_cost_usd=8.0, model_usage_since_last_result=since(0.25))
    assert costs(NEW, first, NEW, second) == ([0.75, 0.25], 1.0)
    assert costs(NEW, result(total_cost_usd=0, model_usage_since_last_result={})) == ([0], 0)


@pytest.mark.rule("F13", "AG10")
def test_the_total_of_an_older_release_is_that_of_the_process() -> None:
    lines = [result(total_cost_usd=0.25), result(total_cost_usd=1)]
    for init in (OLD, INIT, {**INIT, "claude_code_version": "2.0.76"}):
        assert costs(init, *lines) == ([0.25, 0.75], 1.0)


@pytest.mark.rule("F13")
@pytest.mark.parametrize("release", ["2.1.153", "2.1.330", "3.0.0", "odd"])
def test_the_total_of_a_newer_release_may_include_the_session_and_is_not_used(release: str) -> None:
    init = {**INIT, "claude_code_version": release}
    assert costs(init, result(total_cost_usd=0.25)) == ([None], None)


@pytest.mark.rule("F13")
@rows(
    "more",
    [
        {},
        {"total_cost_usd": None},
        {"total_cost_usd": "1"},
        {"total_cost_usd": -1},
        {"total_cost_usd": 1e300},
        {"model_usage_since_last_result": since(1e300)},
        {"model_usage_since_last_result": since(-1)},
        {"model_usage_since_last_result": since(0.25, costBasis="unknown")},
        {"model_usage_since_last_result": {"m": {"costUSD": None}}},
    ],
)
def test_an_unknown_cost_of_a_turn_makes_that_of_the_run_unknown(more: Any) -> None:
    assert costs(OLD, result(**more), result(total_cost_usd=0.25))[0][0] is None
    assert costs(OLD, result(**more), result(total_cost_usd=0.25))[1] is None


@pytest.mark.rule("F13")
def test_a_total_that_falls_is_not_used() -> None:
    assert costs(OLD, result(total_cost_usd=1), result(total_cost_usd=0.5)) == ([1, None], None)


@pytest.mark.rule("F13")
def test_a_failed_turn_has_a_cost_too() -> None:
    failed = result(is_error=True, result="API Error: 500", total_cost_usd=0.25)
    assert costs(OLD, failed) == ([], 0.25)


@pytest.mark.rule("F13")
def test_a_run_that_was_cut_off_has_no_cost() -> None:
    assert costs(OLD) == ([], None)
