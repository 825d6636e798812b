"""Test the tokens of a run, answer by answer and turn by turn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter import Completion, Pipeline
from codex_adapter.agents.claude.stream.decoder import ClaudeDecoder
from codex_adapter.events import ExitStatus

from ....rows import rows

pytestmark = pytest.mark.rule("F10", "F15")

INIT = {"type": "system", "subtype": "init", "session_id": "s-1"}


def answer(message_id: str, usage: Any, *, thread: str | None = None, model: str = "opus") -> dict[str, Any]:
    block = {"type": "text", "text": "Hi."}
    message = {"id": message_id, "model": model, "content": [block], "usage": usage}
    return {"type": "assistant", "message": message, "parent_tool_use_id": thread}


def part(type_: str, **more: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": {"type": type_, **more}}


def result(usage: Any, subtype: str = "success") -> dict[str, Any]:
    return {"type": "result", "subtype": subtype, "is_error": False, "usage": usage}


def after(*lines: dict[str, Any]) -> Completion:
    pipeline = Pipeline(ClaudeDecoder)
    for line in (INIT, *lines):
        pipeline.receive_data(json.dumps(line).encode() + b"\n")
    return pipeline.completion(ExitStatus(signal="SIGKILL"))


A_ALONE = {"input_tokens": 10, "output_tokens": 1}
A, B = answer("a", {"input_tokens": 10, "output_tokens": 1}), answer("b", {"input_tokens": 20, "output_tokens": 1})


@rows(
    ("lines", "tokens"),
    [
        ([], None),
        ([A], {"input_tokens": 10, "output_tokens": 1}),
        ([A, A, A], {"input_tokens": 10, "output_tokens": 1}),
        ([A, A, B], {"input_tokens": 30, "output_tokens": 2}),
        ([A, answer("c", {"input_tokens": 5}, thread="t"), A], {"input_tokens": 10, "output_tokens": 1}),
        ([A, answer("x", {"input_tokens": 5}, model="<synthetic>")], {"input_tokens": 10, "output_tokens": 1}),
        ([answer("a", None), answer("b", [1]), answer("c", {"input_tokens": "5", "output_tokens": {}})], None),
        (
            [part("message_start", message={"id": "a"}), part("message_delta", usage={"output_tokens": 30})],
            {"output_tokens": 30},
        ),
        (
            [part("message_start", message={"id": "a"}), A, part("message_delta", usage={"output_tokens": 30})],
            {"input_tokens": 10, "output_tokens": 30},
        ),
        ([part("message_delta", usage={"output_tokens": 30}), part("message_delta")], {"output_tokens": 30}),
    ],
    ids=str,
)
def test_a_run_that_is_stopped_has_the_tokens_of_its_answers(
    lines: list[dict[str, Any]], tokens: dict[str, int] | None
) -> None:
    completion = after(*lines)
    assert (completion.turn, completion.usage, completion.run_usage) == ("cut_off", None, tokens)


def test_the_answers_of_a_later_turn_are_added_to_the_counts_of_the_earlier_one() -> None:
    completion = after(A, result({"input_tokens": 11, "output_tokens": 9}), INIT, B)
    assert (completion.turn, completion.usage) == ("cut_off", {"input_tokens": 11, "output_tokens": 9})
    assert completion.run_usage == {"input_tokens": 31, "output_tokens": 10}


def test_a_turn_that_failed_has_at_least_the_tokens_of_its_answers() -> None:
    completion = after(A, B, result({"input_tokens": 0, "output_tokens": 7}, "error_during_execution"))
    assert (completion.turn, completion.run_usage) == ("failed", {"input_tokens": 30, "output_tokens": 7})
    assert after(A, result(None, "error_during_execution")).run_usage == {"input_tokens": 10, "output_tokens": 1}


def test_after_a_turn_without_counts_the_tokens_are_a_lower_bound_or_unknown() -> None:
    completed = result({"input_tokens": 25})
    assert after(A, result(None), INIT, B).run_usage == {"input_tokens": 30, "output_tokens": 2}
    assert after(A, result(None), B, completed).run_usage is None
    assert after(A, result(None, "error_during_execution"), B, completed).run_usage is None


def test_counts_that_are_no_numbers_of_tokens_count_nothing() -> None:
    wrong: Any
    for wrong in (-1, 1.5, "7", None, [], 10**30):
        assert after(A, answer("x", {"input_tokens": wrong, "output_tokens": 9})).run_usage == A_ALONE
    others = {f"count{place}": 1 for place in range(100)}
    assert after(A, answer("x", others)).run_usage == A_ALONE


@pytest.mark.rule("X5")
def test_the_names_of_the_counts_are_masked() -> None:
    pipeline = Pipeline(ClaudeDecoder, secrets=("output_tokens",))
    pipeline.receive_data(json.dumps(A).encode() + b"\n")
    assert pipeline.completion(ExitStatus(code=0)).run_usage == {"input_tokens": 10, "***": 1}
