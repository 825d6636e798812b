"""Test the tokens of a run, answer by answer and turn by turn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter import Completion, Pipeline
from codex_adapter.agents.claude.stream.decoder import ClaudeDecoder
from codex_adapter.events import ExitStatus

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


A, B = answer("a", {"in": 10, "out": 1}), answer("b", {"in": 20, "out": 1})


@pytest.mark.parametrize(
    ("lines", "tokens"),
    [
        ([], None),
        ([A], {"in": 10, "out": 1}),
        ([A, A, A], {"in": 10, "out": 1}),
        ([A, A, B], {"in": 30, "out": 2}),
        ([A, answer("c", {"in": 5}, thread="t"), A], {"in": 10, "out": 1}),
        ([A, answer("x", {"in": 5}, model="<synthetic>")], {"in": 10, "out": 1}),
        ([answer("a", None), answer("b", [1]), answer("c", {"in": "5", "out": {}})], None),
        ([part("message_start", message={"id": "a"}), part("message_delta", usage={"out": 30})], {"out": 30}),
        (
            [part("message_start", message={"id": "a"}), A, part("message_delta", usage={"out": 30})],
            {"in": 10, "out": 30},
        ),
        ([part("message_delta", usage={"out": 30}), part("message_delta")], {"out": 30}),
    ],
    ids=str,
)
def test_a_run_that_is_stopped_has_the_tokens_of_its_answers(
    lines: list[dict[str, Any]], tokens: dict[str, int] | None
) -> None:
    completion = after(*lines)
    assert (completion.turn, completion.usage, completion.run_usage) == ("cut_off", None, tokens)


def test_the_answers_of_a_later_turn_are_added_to_the_counts_of_the_earlier_one() -> None:
    completion = after(A, result({"in": 11, "out": 9}), INIT, B)
    assert (completion.turn, completion.usage) == ("cut_off", {"in": 11, "out": 9})
    assert completion.run_usage == {"in": 31, "out": 10}


def test_a_turn_that_failed_has_at_least_the_tokens_of_its_answers() -> None:
    completion = after(A, B, result({"in": 0, "out": 7}, "error_during_execution"))
    assert (completion.turn, completion.run_usage) == ("failed", {"in": 30, "out": 7})
    assert after(A, result(None, "error_during_execution")).run_usage == {"in": 10, "out": 1}


def test_after_a_turn_without_counts_the_tokens_are_a_lower_bound_or_unknown() -> None:
    completed = result({"in": 25})
    assert after(A, result(None), B).run_usage == {"in": 30, "out": 2}
    assert after(A, result(None), B, completed).run_usage is None
    assert after(A, result(None, "error_during_execution"), B, completed).run_usage is None


def test_the_number_of_counts_is_bounded() -> None:
    lines = [answer(f"m{n}", {f"count{n}_{place}": 1 for place in range(40)}) for n in range(5)]
    completion = after(*lines)
    assert completion.run_usage is not None
    assert len(completion.run_usage) == 64
