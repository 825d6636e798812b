"""Test the outcome of each recording of the real CLI, and what its events do not repeat."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from codex_adapter import Completion, Event, Pipeline
from codex_adapter.agents.pi.agent import AGENT
from codex_adapter.agents.pi.releases import RELEASES
from codex_adapter.agents.pi.stream.decoder import PiDecoder
from codex_adapter.core.masking.masker import Masker
from codex_adapter.events import ExitStatus
from codex_adapter.hints import Hint
from codex_adapter.records import encode_completion, encode_events
from tests.releases.subject import version_of

from ...recordings import each_recording

RECORDINGS = Path(__file__).parents[4] / "fixtures" / "pi"
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
WITHOUT_CODES: dict[str, Hint] = {"model_unknown": "endpoint_unknown", "quota_exceeded": "rate_limited"}
"""The hints of a release whose errors have only the message of the service."""


def true_outcome(recording: Path) -> tuple[str | None, Hint | None]:
    """Return the turn of a recording and its hint, which standard error can only have live."""
    name, quirks = recording.stem, RELEASES.quirks_of(version_of(recording.parent.name))
    if name in ("ended_early", "failed_later", "incomplete") and "cut_answer_is_whole" in quirks:
        return "cut_off", "stream_cut"
    if name == "ended_early" and "cut_answer_retried" not in quirks:
        return "failed", "stream_cut"
    if name == "not_logged_in":
        return None, None
    if name in CUT:
        return "cut_off", CUT[name]
    if name in WITHOUT_CODES and "errors_without_codes" in quirks:
        return "failed", WITHOUT_CODES[name]
    return ("failed", FAILED[name]) if name in FAILED else ("completed", None)


def full_decoder(masker: Masker) -> PiDecoder:
    return AGENT.decoder(masker, full_payloads=True)


def decoded(
    reads: Iterable[bytes], returncode: int, *, full: bool = False, secrets: Iterable[str] = ()
) -> tuple[list[Event], Completion]:
    pipeline = Pipeline(full_decoder if full else AGENT.decoder, secrets=secrets)
    events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
    return events, pipeline.completion(ExitStatus.from_returncode(returncode))


@pytest.mark.rule("F9", "F11", "AG4", "AG13")
@each_recording("pi")
def test_the_outcome_is_the_true_one(recording: Path, returncode: int) -> None:
    events, completion = decoded([recording.read_bytes()], returncode)
    turn, hint = true_outcome(recording)
    assert (completion.turn, completion.hint) == (turn, hint)
    assert completion.ok == (turn == "completed")
    assert [event for event in events if event.kind == "unknown"] == []
    assert [event for event in events if event.kind == "error" and event.data is None] == []


@pytest.mark.rule("F13", "F15")
@each_recording("pi")
def test_what_a_run_that_is_stopped_at_any_line_has_used_is_a_lower_bound(recording: Path, returncode: int) -> None:
    pipeline = Pipeline(AGENT.decoder)
    seen: list[Completion] = []
    for line in recording.read_bytes().splitlines(keepends=True):
        pipeline.receive_data(line)
        seen.append(pipeline.completion(ExitStatus(signal="SIGKILL")))
    seen.append(decoded([recording.read_bytes()], returncode)[1])
    for before, after in pairwise(seen):
        counts = after.run_usage or {}
        assert all(counts.get(name, 0) >= count for name, count in (before.run_usage or {}).items())
        assert (before.cost_usd or 0) <= (after.cost_usd or 0)


@pytest.mark.rule("F13", "F15")
@pytest.mark.parametrize("release", ["0.80.10", "0.87.1"])
def test_the_last_update_of_an_answer_reports_its_tokens_and_its_cost(release: str) -> None:
    data = (RECORDINGS / release / "text.jsonl").read_bytes()
    pipeline = Pipeline(AGENT.decoder)
    pipeline.receive_data(data[: data.rindex(b'{"type":"message_end"')])
    stopped = pipeline.completion(ExitStatus(signal="SIGKILL"))
    whole = decoded([data], 0)[1]
    assert stopped.run_usage
    assert (stopped.run_usage, stopped.cost_usd) == (whole.run_usage, whole.cost_usd)


@pytest.mark.rule("M0", "X1")
@each_recording("pi")
def test_prompts_are_not_repeated(recording: Path, returncode: int) -> None:
    events, completion = decoded([recording.read_bytes()], returncode, full=True)
    shown = encode_events(events) + encode_completion(len(events), completion)
    assert b"Do it." not in shown
    assert b"expert coding assistant" not in shown


@pytest.mark.rule("X5")
@each_recording("pi", wide=True)
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
