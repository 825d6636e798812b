"""Test that the real CLI resumes and forks exactly the requested session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter import BackendError, RunRequest
from codex_adapter.testing import ModelServer, Scenario, Shell, Usage, answer, script

from ..needs import has_no_such_case
from .shapes import shape
from .stage import Outcome, Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("S9")]

RESUME, FORK = "agent_api.session.resume.v1", "agent_api.session.fork.v1"
LAST = {"selector": "last"}
NOBODYS = {
    "version 7": "01234567-89ab-7def-8123-456789abcdef",
    "version 4": "0b0c3e0c-7d3c-4a39-9a5c-0d1f6ee2a111",
    "no UUID": "not-a-uuid",
    "a path": "../../etc/passwd",
    "another alphabet": "сессия 1",
}
LASTING = script("first", "second", "third", fallback=answer("one more"))
ODD_IDS = sorted(NOBODYS.keys() - {"version 7"})
PROMPT = 5.0
"""Seconds within which a refusal has come; it takes the CLI well under one."""


def _going_on(stage: Stage, key: str, session: Any, prompt: str) -> RunRequest:
    selector = session if isinstance(session, dict) else {"selector": "id", "id": session}
    return stage.request(prompt, extensions={key: selector})


async def _begin(stage: Stage, prompt: str = "First prompt.") -> str:
    outcome = await stage.run(stage.request(prompt))
    assert outcome.completion is not None
    assert outcome.completion.session_id is not None
    return outcome.completion.session_id


def _history(server: ModelServer) -> list[str]:
    """Which of the prompts and answers of these tests the last model request has in it, in order."""
    texts = json.dumps(server.requests[-1]["input"])
    words = ["First prompt.", "first", "Second prompt.", "second", "Third prompt.", "third"]
    return sorted((word for word in words if f'"{word}"' in texts), key=lambda word: texts.index(f'"{word}"'))


def _refused(outcome: Outcome, text: str) -> None:
    assert isinstance(outcome.error, BackendError)
    assert (outcome.error.failure, str(outcome.error)) == ("session", text)
    assert [(event.kind, event.message) for event in outcome.events] == [("error", text)]
    assert outcome.seconds < PROMPT


@pytest.mark.smoke
async def test_a_session_is_resumed_by_its_id(stage: Stage) -> None:
    with stage.model(LASTING) as server:
        session = await _begin(stage)
        outcome = await stage.run(_going_on(stage, RESUME, session, "Second prompt."))
        assert _history(server) == ["First prompt.", "first", "Second prompt."]
    assert shape(outcome.events) == ["session", "status", "agent_message: second", "usage"]
    assert outcome.completion is not None
    assert outcome.completion.session_id == session


async def test_the_last_session_is_resumed(stage: Stage) -> None:
    stage.release.needs(0, 63, what="resume --last with a prompt")
    with stage.model(LASTING) as server:
        session = await _begin(stage)
        outcome = await stage.run(_going_on(stage, RESUME, LAST, "Second prompt."))
        assert _history(server) == ["First prompt.", "first", "Second prompt."]
    assert outcome.completion is not None
    assert outcome.completion.session_id == session


async def test_a_fork_goes_on_from_a_session_and_leaves_it_as_it_was(stage: Stage) -> None:
    stage.release.needs(0, 155, what="fork")
    with stage.model(LASTING) as server:
        session = await _begin(stage)
        fork = await stage.run(_going_on(stage, FORK, session, "Second prompt."))
        assert _history(server) == ["First prompt.", "first", "Second prompt."]
        again = await stage.run(_going_on(stage, RESUME, session, "Third prompt."))
        assert _history(server) == ["First prompt.", "first", "Third prompt."]
    assert shape(fork.events) == ["session", "status", "agent_message: second", "usage"]
    assert fork.completion is not None
    assert again.completion is not None
    assert fork.completion.session_id != session == again.completion.session_id


@pytest.mark.parametrize("kind", [*ODD_IDS, pytest.param("version 7", marks=pytest.mark.smoke)])
async def test_resuming_an_unknown_session_is_refused(kind: str, stage: Stage) -> None:
    with stage.model(LASTING):
        await _begin(stage)
        outcome = await stage.run(_going_on(stage, RESUME, NOBODYS[kind], "Second prompt."))
    _refused(outcome, "session not found")


@pytest.mark.parametrize("kind", NOBODYS)
async def test_forking_an_unknown_session_is_refused(kind: str, stage: Stage) -> None:
    stage.release.needs(0, 155, what="fork")
    with stage.model(LASTING) as server:
        await _begin(stage)
        outcome = await stage.run(_going_on(stage, FORK, NOBODYS[kind], "Second prompt."))
        assert len(server.requests) == 1
    _refused(outcome, "session not found")


async def test_resuming_the_last_session_is_refused_where_there_is_none(stage: Stage) -> None:
    stage.release.needs(0, 63, what="resume --last with a prompt")
    with stage.model(LASTING):
        outcome = await stage.run(_going_on(stage, RESUME, LAST, "First prompt."))
    _refused(outcome, "no session found")


async def test_the_last_session_of_another_directory_is_not_the_one_of_this(stage: Stage) -> None:
    stage.release.needs(0, 125, what="resume --last within a directory")
    with stage.model(LASTING):
        await _begin(stage)
        request = _going_on(stage, RESUME, LAST, "Second prompt.")
        elsewhere = {field: getattr(request, field) for field in ("prompt", "env", "extensions")}
        outcome = await stage.run(RunRequest(**elsewhere, working_dir=str(stage.root / "extra")))
    _refused(outcome, "no session found")


async def test_a_session_is_resumed_from_another_directory_by_its_id(stage: Stage) -> None:
    with stage.model(LASTING) as server:
        session = await _begin(stage)
        request = _going_on(stage, RESUME, session, "Second prompt.")
        elsewhere = {field: getattr(request, field) for field in ("prompt", "env", "extensions")}
        outcome = await stage.run(RunRequest(**elsewhere, working_dir=str(stage.root / "extra")))
        assert _history(server) == ["First prompt.", "first", "Second prompt."]
    assert outcome.completion is not None
    assert outcome.completion.session_id == session


@pytest.mark.rule("S8")
@pytest.mark.parametrize(("key", "session", "since"), [(FORK, NOBODYS["version 7"], (0, 155)), (RESUME, LAST, (0, 63))])
async def test_what_a_release_cannot_do_is_refused_before_the_run(
    key: str, session: object, since: tuple[int, ...], stage: Stage
) -> None:
    if not stage.release.before(*since):
        has_no_such_case("this release can")
    with stage.model(Scenario()) as server:
        with pytest.raises(BackendError) as caught:
            await stage.run(_going_on(stage, key, session, "Do it."))
        assert server.requests == []
    assert caught.value.failure == "invalid_request"
    assert str(stage.release) in (caught.value.advice or "")
    stage.oracle.check()


@pytest.mark.rule("S8")
async def test_no_release_forks_the_last_session(stage: Stage) -> None:
    with stage.model(Scenario()), pytest.raises(BackendError) as caught:
        await stage.run(_going_on(stage, FORK, LAST, "Do it."))
    assert caught.value.failure == "invalid_request"
    stage.oracle.check()


@pytest.mark.rule("K3")
async def test_a_cancelled_session_can_be_resumed(stage: Stage) -> None:
    with stage.model(script(answer("held", gate="never"), fallback=answer("second"))) as server:
        async with stage.running(stage.request("First prompt.")) as run:
            await stage.asked(server)
            session = run.session_id
            run.cancel()
        outcome = await stage.run(_going_on(stage, RESUME, session, "Second prompt."))
        assert _history(server)[-1] == "Second prompt."
    assert outcome.completion is not None
    assert (outcome.completion.session_id, outcome.completion.final_text) == (session, "second")


COSTS = script(
    answer("first", usage=Usage(100, 40, 20, 5)),
    answer("second", usage=Usage(1_000, 400, 200, 50)),
    answer("third", usage=Usage(10_000, 4_000, 2_000, 500)),
)


def _counts(outcome: Outcome) -> tuple[int, dict[str, int] | None]:
    """The input tokens that the CLI tells at the run's end, and the run's own tokens."""
    assert outcome.completion is not None
    assert outcome.completion.usage is not None
    own = outcome.completion.run_usage
    names = ("input_tokens", "cached_input_tokens", "output_tokens")
    return outcome.completion.usage["input_tokens"], own and {name: own[name] for name in names}


@pytest.mark.rule("F10")
async def test_a_resumed_run_tells_its_own_tokens_besides_those_of_the_thread(stage: Stage) -> None:
    stage.release.needs(0, 80, what="a usage of the thread")
    with stage.model(COSTS):
        first = await stage.run(stage.request("First prompt."))
        assert _counts(first) == (100, None)
        assert first.completion is not None
        session = first.completion.session_id
        second = await stage.run(_going_on(stage, RESUME, session, "Second prompt."))
        own = {"input_tokens": 1_000, "cached_input_tokens": 400, "output_tokens": 200}
        assert _counts(second) == (1_100, own)
        third = await stage.run(_going_on(stage, RESUME, session, "Third prompt."))
        own = {"input_tokens": 10_000, "cached_input_tokens": 4_000, "output_tokens": 2_000}
        assert _counts(third) == (11_100, own)


@pytest.mark.rule("F10")
async def test_so_does_a_fork_of_a_session_and_a_fork_of_the_fork(stage: Stage) -> None:
    stage.release.needs(0, 155, what="fork")
    with stage.model(COSTS):
        session = await _begin(stage)
        fork = await stage.run(_going_on(stage, FORK, session, "Second prompt."))
        assert _counts(fork) == (1_100, {"input_tokens": 1_000, "cached_input_tokens": 400, "output_tokens": 200})
        assert fork.completion is not None
        again = await stage.run(_going_on(stage, FORK, fork.completion.session_id, "Third prompt."))
        own = {"input_tokens": 10_000, "cached_input_tokens": 4_000, "output_tokens": 2_000}
        assert _counts(again) == (11_100, own)


@pytest.mark.rule("F10", "K3")
async def test_what_a_cancelled_turn_has_used_is_not_the_next_runs(stage: Stage) -> None:
    first = answer(Shell("true"), usage=Usage(100, 40, 20, 5))
    held = answer("held", gate="never")
    with stage.model(script(first, held, fallback=answer("second", usage=Usage(1_000, 400, 200, 50)))) as server:
        async with stage.running(stage.request("First prompt.")) as run:
            await stage.asked(server, 2)
            session = run.session_id
            run.cancel()
        outcome = await stage.run(_going_on(stage, RESUME, session, "Second prompt."))
    _, own = _counts(outcome)
    assert own in (None, {"input_tokens": 1_000, "cached_input_tokens": 400, "output_tokens": 200})


@pytest.mark.rule("F10")
async def test_of_the_last_session_nobody_knows_which_it_will_be(stage: Stage) -> None:
    stage.release.needs(0, 80, what="a usage of the thread")
    with stage.model(COSTS):
        await _begin(stage)
        outcome = await stage.run(_going_on(stage, RESUME, LAST, "Second prompt."))
    assert _counts(outcome) == (1_100, None)
