"""Test the token counts of a run where the CLI counts those of its whole thread."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.agents.codex.stream.usage import RunShare
from codex_adapter.events import Completion, ExitStatus

from ....rows import rows

pytestmark = pytest.mark.rule("F10")

STARTED = {"type": "turn.started"}
FAILED = {"type": "turn.failed", "error": {"message": "boom"}}
TOTAL = {"input_tokens": 1_100, "cached_input_tokens": 110, "output_tokens": 55}
BEFORE = {"input_tokens": 100, "cached_input_tokens": 10, "output_tokens": 5, "total_tokens": 105}


def used(usage: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "turn.completed", "usage": {**TOTAL, **more} if usage is None else usage}


def completion(*lines: dict[str, Any], **options: Any) -> Completion:
    pipeline = codex_pipeline(**options)
    for line in lines:
        pipeline.receive_data(json.dumps(line).encode() + b"\n")
    return pipeline.completion(ExitStatus(code=0))


def test_nothing_before_gives_the_usage_itself() -> None:
    done = completion(STARTED, used(), usage_before={})
    assert done.run_usage == done.usage == TOTAL


def test_what_was_before_is_taken_off() -> None:
    done = completion(STARTED, used(), usage_before=BEFORE)
    assert done.usage == TOTAL
    assert done.run_usage == {"input_tokens": 1_000, "cached_input_tokens": 100, "output_tokens": 50}


def test_a_count_that_an_older_release_did_not_have_was_zero() -> None:
    done = completion(STARTED, used(cache_write_input_tokens=7), usage_before=BEFORE)
    assert done.run_usage is not None
    assert done.run_usage["cache_write_input_tokens"] == 7


@rows(
    ("lines", "before"),
    [
        ([STARTED, used()], None),
        ([STARTED, used()], {**BEFORE, "output_tokens": 56}),
        ([STARTED, used(output_tokens=-1)], {}),
        ([STARTED], {}),
        ([STARTED, FAILED], {}),
        ([STARTED, {"type": "turn.completed"}], {}),
        ([STARTED, used(), STARTED, used()], {}),
        ([STARTED, FAILED, STARTED, used()], {}),
    ],
    ids=str,
)
def test_what_is_not_known_is_left_out(lines: list[dict[str, Any]], before: dict[str, int] | None) -> None:
    assert completion(*lines, usage_before=before).run_usage is None


@pytest.mark.parametrize("more", [(STARTED,), (STARTED, FAILED)])
def test_a_later_turn_that_does_not_complete_leaves_a_lower_bound(more: tuple[dict[str, Any], ...]) -> None:
    assert completion(STARTED, used(), *more, usage_before={}).run_usage == TOTAL


def test_unless_told_nobody_knows_what_was_before() -> None:
    assert completion(STARTED, used()).run_usage is None


def test_a_usage_without_counts_is_a_share_without_counts() -> None:
    assert completion(STARTED, used({}), usage_before=BEFORE).run_usage == {}


@pytest.mark.rule("X5")
def test_a_name_that_is_masked_is_taken_off_by_the_name_it_has() -> None:
    done = completion(STARTED, used(), usage_before=BEFORE, secrets=("cached_input_tokens",))
    assert done.usage == {"input_tokens": 1_100, "***": 110, "output_tokens": 55}
    assert done.run_usage == {"input_tokens": 1_000, "***": 100, "output_tokens": 50}


COUNTS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 5))


@given(COUNTS, COUNTS)
def test_a_share_is_never_less_than_nothing_and_adds_up(counted: dict[str, int], before: dict[str, int]) -> None:
    own = RunShare(before, str).at_turn_end(counted)
    if own is None:
        assert any(counted[name] < before.get(name, 0) for name in counted)
    else:
        assert {name: count + before.get(name, 0) for name, count in own.items()} == counted
        assert min(own.values(), default=0) >= 0
