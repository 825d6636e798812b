"""Test that each recording of the real CLI has its golden records, however its bytes are cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pytest

from codex_adapter import Completion, Event, Pipeline
from codex_adapter.agents.pi.agent import AGENT
from codex_adapter.agents.pi.stream.decoder import PiDecoder
from codex_adapter.core.masking.masker import Masker
from codex_adapter.events import ExitStatus, ToolCall
from codex_adapter.hints import Hint
from codex_adapter.records import encode_completion, encode_events

SECRET = "hunter2-canary-of-a-line"
FAILED: dict[str, Hint] = {
    "unauthorized": "not_logged_in",
    "forbidden": "forbidden",
    "model_unknown": "model_unknown",
    "request_rejected": "request_rejected",
    "rate_limited": "rate_limited",
    "quota_exceeded": "quota_exceeded",
    "server_error": "server_error",
    "overloaded": "overloaded",
    "failed_later": "stream_cut",
    "not_reached": "no_network",
    "answer_cut": "stream_cut",
    "answer_failed": "server_error",
}
"""The hints of the runs whose turn failed."""
CUT: dict[str, Hint | None] = {"incomplete": "answer_incomplete", "terminated": None, "killed": None}
"""The hints of the runs whose turn did not end."""
NOT_STARTED = {"session_unknown", "provider_unknown", "not_logged_in"}
"""The runs without a turn. Only standard error, which is not recorded, has their cause."""
IN_0_74: dict[str, Hint] = {
    "model_unknown": "endpoint_unknown",
    "quota_exceeded": "rate_limited",
    "ended_early": "stream_cut",
    "failed_later": "stream_cut",
    "incomplete": "stream_cut",
}
"""The hints that differ in 0.74: its errors have no codes, and it does not notice an answer without an end."""


def full_decoder(masker: Masker) -> PiDecoder:
    return AGENT.decoder(masker, full_payloads=True)


def decoded(
    reads: Iterable[bytes], returncode: int, *, full: bool = False, secrets: Iterable[str] = ()
) -> tuple[list[Event], Completion]:
    pipeline = Pipeline(full_decoder if full else AGENT.decoder, secrets=secrets)
    events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
    return events, pipeline.completion(ExitStatus.from_returncode(returncode))


@pytest.mark.rule("F9", "F11", "AG4", "AG13")
def test_the_outcome_is_the_true_one(recording: Path, returncode: int) -> None:
    events, completion = decoded([recording.read_bytes()], returncode)
    name = recording.stem
    old = recording.parent.name == "0.74.2"
    failed = FAILED
    if recording.parent.name == "0.80.10":
        failed = {**FAILED, "ended_early": "stream_cut"}  # only 0.87 tries again
    turn: str | None = "completed"
    hint: Hint | None = None
    if name in NOT_STARTED:
        turn = None
    elif name in CUT or (old and name in ("ended_early", "failed_later")):
        turn, hint = "cut_off", CUT.get(name)
    elif name in failed:
        turn, hint = "failed", failed[name]
    assert completion.turn == turn
    assert completion.hint == (IN_0_74.get(name, hint) if old else hint)
    assert completion.ok == (turn == "completed")
    assert [event for event in events if event.kind == "unknown"] == []
    assert [event for event in events if event.kind == "error" and event.data is None] == []


@pytest.mark.rule("M3", "M9")
def test_each_call_has_exactly_one_result(recording: Path, returncode: int) -> None:
    events, _ = decoded([recording.read_bytes()], returncode)
    tools = [(event.kind, event.data.tool) for event in events if isinstance(event.data, ToolCall)]
    called = [tool.tool_use_id for kind, tool in tools if kind == "tool_call" and tool.phase == "start"]
    assert sorted(map(str, called)) == sorted(str(tool.tool_use_id) for kind, tool in tools if kind == "tool_result")


@pytest.mark.rule("M0", "X1")
def test_prompts_are_not_repeated(recording: Path, returncode: int) -> None:
    events, completion = decoded([recording.read_bytes()], returncode, full=True)
    shown = encode_events(events) + encode_completion(len(events), completion)
    assert b"Do it." not in shown
    assert b"expert coding assistant" not in shown


@pytest.mark.rule("X5")
def test_a_secret_in_any_field_of_a_line_is_masked(recording: Path, returncode: int) -> None:
    """Replace one string after another by a secret, and look for it in everything that the run shows."""
    lines = recording.read_bytes().splitlines(keepends=True)
    random = Random(recording.stem)
    for number, line in enumerate(lines):
        places = list(strings(json.loads(line)))
        for place in random.sample(places, min(len(places), 4)):
            value = json.loads(line)
            plant(value, place)
            planted = [*lines[:number], json.dumps(value).encode() + b"\n", *lines[number + 1 :]]
            events, completion = decoded(planted, returncode, full=True, secrets=[SECRET])
            shown = encode_events(events) + encode_completion(len(events), completion)
            assert SECRET.encode() not in shown, place


def strings(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Return the path of each string of a JSON value, but for the type of its line."""
    if isinstance(value, str) and path != ("type",):
        yield path
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from strings(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from strings(inner, (*path, index))


def plant(value: object, path: tuple[str | int, ...]) -> None:
    *above, last = path
    for step in above:
        value = value[step]  # type: ignore[index]
    value[last] = f"it is {SECRET} here"  # type: ignore[index]
