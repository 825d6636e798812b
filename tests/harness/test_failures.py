"""Test the failure messages of turns: one sentence for each cause, with a code if one exists."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from codex_adapter import (
    AdapterError,
    BackendError,
    Completion,
    ExitStatus,
    InvalidRequestError,
    RunCancelled,
    RunTimedOut,
    SpawnError,
)
from codex_adapter.harness.failures import failure
from codex_adapter.hints import ADVICE, Hint
from codex_adapter.turn_errors import AgentSpacesError

from ..rows import rows

pytestmark = pytest.mark.rule("U6", "U10")

WELL = ExitStatus(code=0)
CODES = {"model_unknown": "model_not_supported", "session_unknown": "harness_session_not_found"}


def described(outcome: Completion | AdapterError) -> AgentSpacesError | None:
    return failure(outcome, "the toy")


@rows("hint", get_args(Hint))
def test_each_hint_has_one_sentence_and_its_code(hint: Hint) -> None:
    for outcome in (
        Completion(status=ExitStatus(code=1), hint=hint),
        Completion(status=ExitStatus(code=1), turn="failed", hint=hint),
        RunTimedOut("timeout", hint=hint),
    ):
        told = described(outcome)
        assert told is not None
        assert told.code == CODES.get(hint)
        assert "\n" not in told.message
        assert told.message == ADVICE[hint]
        assert told.details is not None
        assert told.details["hint"] == hint


@pytest.mark.parametrize("hint", ["session_unknown", "answer_incomplete", "quota_exceeded"])
def test_the_sentence_of_an_agent_that_names_options_of_a_run_is_not_used(hint: Hint) -> None:
    for outcome in (
        Completion(status=ExitStatus(code=1), hint=hint, advice="Use --fork."),
        BackendError("session", hint=hint, advice="Use --fork."),
    ):
        told = described(outcome)
        assert told is not None
        assert told.message == ADVICE[hint]


def test_a_turn_that_was_completed_has_not_failed() -> None:
    assert described(Completion(status=WELL, turn="completed")) is None
    ended = ExitStatus(signal="SIGKILL")
    assert described(Completion(status=ended, turn="completed", final_text="done")) is None


@pytest.mark.rule("F11", "F12")
def test_a_turn_whose_commands_could_not_be_started_has_failed_though_it_was_completed() -> None:
    told = described(Completion(status=WELL, turn="completed", final_text="done", hint="sandbox_unavailable"))
    assert told is not None
    assert told.message == ADVICE["sandbox_unavailable"]
    assert told.details == {"hint": "sandbox_unavailable", "exitStatus": 0}


@rows(
    "outcome",
    [
        Completion(status=WELL, final_text="x"),
        Completion(status=WELL, turn="failed", final_text="x"),
        Completion(status=WELL, turn="cut_off"),
        Completion(status=ExitStatus(code=1), turn="completed"),
        Completion(status=ExitStatus(signal="SIGKILL"), turn="cut_off"),
        SpawnError(not_found=True, advice="Install one."),
        SpawnError(not_found=False),
        RunTimedOut("timeout"),
        RunCancelled("cancelled"),
        BackendError("other"),
        BackendError("io", advice="Do it."),
        InvalidRequestError("prompt must be a string"),
    ],
)
def test_every_other_outcome_is_told_without_a_code(outcome: Completion | AdapterError) -> None:
    told = described(outcome)
    assert told is not None
    assert told.code is None
    assert told.message
    assert "SIGKILL" not in told.message


def test_a_session_that_is_not_there_has_its_code() -> None:
    told = described(BackendError("session", "session not found", hint="session_unknown"))
    assert told is not None
    assert told.code == "harness_session_not_found"
    assert told.details == {"hint": "session_unknown", "failure": "session"}


@pytest.mark.parametrize(
    ("turn", "text"),
    [("failed", "The turn of the toy failed for an unknown reason."), ("cut_off", "The toy exited during its turn.")],
)
def test_the_agent_is_named(turn: Any, text: str) -> None:
    told = described(Completion(status=WELL, turn=turn))
    assert told is not None
    assert told.message == text
