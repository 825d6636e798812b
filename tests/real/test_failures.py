"""Test the real CLI with a failing model: a failed turn, a status, and no text of its stderr."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec
import pytest

from codex_adapter import ExitStatus
from codex_adapter.core.error_texts import non_zero_exit_text
from codex_adapter.testing import Answer, Shell, answer, script

from .shapes import shape
from .stage import SOME_RETRIES, Outcome, Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("F3")]

LAST = non_zero_exit_text("codex", ExitStatus(code=1))
CRASH = {"code": "server_error", "message": "The model crashed"}
ERROR_LINE = 30
"""Characters from which a line of stderr is one that says something of its own."""


def _refusal(status: int, message: str, code: str | None = None) -> Answer:
    return Answer(status=status, body={"error": {"message": message, "type": "invalid_request_error", "code": code}})


TROUBLES = {
    "400": _refusal(400, "The model `mock-model` does not exist", "model_not_found"),
    "401": _refusal(401, "Incorrect API key provided: sk-xxx.", "invalid_api_key"),
    "429": _refusal(429, "Rate limit reached", "rate_limit_exceeded"),
    "500": Answer(status=500, body={"error": {"message": "internal"}}),
    "stream cut": answer("lost", cut_after=2),
    "stream without its end": answer("no terminal event", end="none"),
    "response failed": answer("before failing", end="failed", detail=CRASH),
    "response incomplete": answer("cut by tokens", end="incomplete", detail={"reason": "max_output_tokens"}),
}


def _failed(outcome: Outcome) -> None:
    told = shape(outcome.events)
    assert told[:2] == ["session", "status"]
    assert told[-3:] == ["notice", "turn failed", LAST]
    assert outcome.completion is not None
    assert outcome.completion.status == ExitStatus(code=1)
    assert (outcome.completion.turn, outcome.completion.final_text) == ("failed", None)
    assert outcome.events[0].data is not None
    assert outcome.completion.session_id is not None


@pytest.mark.rule("M8")
@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_model_that_fails_fails_the_turn(trouble: str, stage: Stage) -> None:
    with stage.model(script(fallback=TROUBLES[trouble])):
        outcome = await stage.run()
    _failed(outcome)


@pytest.mark.smoke
@pytest.mark.usefixtures("agent_sandbox")
async def test_work_that_was_done_before_the_failure_is_told(stage: Stage) -> None:
    refusal = msgspec.structs.replace(_refusal(400, "bad request now"), delay=stage.release.pause)
    scenario = script(answer("working", Shell("echo x > done")), fallback=refusal)
    with stage.model(scenario):
        outcome = await stage.run()
    _failed(outcome)
    work = [
        "agent_message: working",
        "tool_call command_execution running",
        "tool_result command_execution completed 0",
    ]
    assert shape(outcome.events)[2:5] == work
    assert (stage.workspace / "done").exists()


@pytest.mark.rule("M8", "F2")
async def test_reconnecting_is_told_and_no_failure(stage: Stage) -> None:
    with stage.model(script(answer("lost", cut_after=2), "after the cut"), retries=SOME_RETRIES) as server:
        outcome = await stage.run()
        assert len(server.requests) == 2
    assert "notice" in shape(outcome.events)
    assert outcome.completion is not None
    assert outcome.completion.status == ExitStatus(code=0)
    assert outcome.completion.final_text == "after the cut"


@pytest.mark.rule("X1", "S7")
@pytest.mark.parametrize("trouble", ["400", "stream cut", None])
async def test_nothing_of_stderr_is_told_however_much_there_is(
    trouble: str | None, stage: Stage, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    copy = stage.root / "stderr"
    binary = _with_copy_of_stderr(stage, copy)
    with stage.model(script(fallback=TROUBLES[trouble] if trouble else answer("fine"))):
        outcome = await stage.run(stage.request("Do it. " * 20_000, env={"RUST_LOG": "trace"}), binary=str(binary))
    said = [line for line in copy.read_text(errors="replace").splitlines() if len(line) >= ERROR_LINE]
    assert sum(map(len, said)) > 65_536
    told = "\n".join([repr(outcome), *caplog.messages, *capfd.readouterr()])
    assert [line for line in said if line in told] == []
    assert "codex_core" not in told


def _with_copy_of_stderr(stage: Stage, copy: Path) -> Path:
    """The CLI in a script that keeps a copy of its stderr, for the test alone."""
    script = stage.root / "codex-with-copy"
    script.write_text(f'#!/bin/bash\nexec {stage.release.binary} "$@" 2> >(exec tee {copy} >&2)\n')
    script.chmod(0o755)
    return script


async def test_a_configuration_that_cannot_be_read_fails_the_run(stage: Stage) -> None:
    with stage.model(script(), config="this is = = no TOML\n") as server:
        outcome = await stage.run()
        assert server.requests == []
    assert shape(outcome.events) == [LAST]
    assert outcome.completion is not None
    assert outcome.completion.status == ExitStatus(code=1)
    assert (outcome.completion.turn, outcome.completion.session_id) == (None, None)
