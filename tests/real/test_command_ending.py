"""Test `codex-adapter run` under a supervisor that stops it, kills it, or does not read."""

from __future__ import annotations

import json
import signal
import time

import pytest

from codex_adapter.agents.codex.advice import ADVICE as OF_CODEX
from codex_adapter.testing import Answer, Reasoning, Shell, answer, script

from ..cli.slow_clock import SLOW_CLOCK
from ..waiting import SOON
from .commands import running, told
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("E4", "K4")]

MODES = ("workspace-write", "danger-full-access")
BUSY = "sleep 601 & (setsid sleep 602 &) ; (trap '' INT TERM HUP; sleep 603) & echo up > fifo; sleep 605"
PROMPT = 3.0
"""Seconds that a run takes to be ended."""
REFUSAL = Answer(status=400, body={"error": {"message": "no", "type": "invalid_request_error"}})


def _run(stage: Stage, *options: str) -> tuple[str, ...]:
    return ("run", "--codex", str(stage.release.binary), *options, "Do it.")


@pytest.mark.rule("E1", "W3")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "status"), [("INT", 130), pytest.param("TERM", 143, marks=pytest.mark.smoke), ("HUP", 129)]
)
@pytest.mark.usefixtures("agent_sandbox")
def test_a_signal_cancels_the_run_and_its_completion_is_written(
    name: str, status: int, mode: str, stage: Stage
) -> None:
    fifo = stage.fifo()
    with stage.model(script(Shell(BUSY), "never")):
        # It ends when it is asked to: on this clock a signal that insists would come too late for this test.
        with running(stage, *_run(stage, "--sandbox", mode), program=SLOW_CLOCK) as process:
            stage.wait_told(fifo)
            process.send_signal(signal.Signals[f"SIG{name}"])
            done = told(process)
    assert (done.status, done.stderr) == (status, b"")
    assert done.events[-1]["kind"] != "error"
    assert done.completion == {
        "type": "completion",
        "seq": len(done.events),
        "outcome": "failed",
        "ok": False,
        "error": {"kind": "backend", "message": "cancelled", "failure": "cancelled"},
        "session_id": done.events[0]["data"]["session"]["id"],
    }


@pytest.mark.parametrize("mode", MODES)
def test_a_second_signal_kills_and_the_completion_is_written_all_the_same(mode: str, stage: Stage) -> None:
    fifo = stage.fifo()
    with stage.model(script(Shell(BUSY), "never")):
        with running(stage, *_run(stage, "--sandbox", mode)) as process:
            stage.wait_told(fifo)
            started = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGINT)
            done = told(process)
            assert time.monotonic() - started < PROMPT
    assert done.status in (143, 130)  # two signals at once come in the order of their numbers
    assert done.completion["error"] == {"kind": "backend", "message": "cancelled", "failure": "cancelled"}


@pytest.mark.parametrize("mode", MODES)
def test_nothing_survives_an_adapter_that_is_killed(mode: str, stage: Stage) -> None:
    fifo = stage.fifo()
    with stage.model(script(Shell(BUSY), "never")):
        with running(stage, *_run(stage, "--sandbox", mode)) as process:
            stage.wait_told(fifo)
            assert len(stage.oracle.look()) > 3
            process.kill()
            process.wait(SOON)
            left = stage.oracle.wait_gone(PROMPT)
            stage.oracle.kill()
    assert left == []


@pytest.mark.rule("E2", "D3")
@pytest.mark.parametrize(
    ("last", "status", "said"),
    [(answer("Done."), 0, ""), (REFUSAL, 1, f"codex-adapter: {OF_CODEX['request_rejected']}\n")],
    ids=["answered", "refused"],
)
def test_a_reader_that_leaves_changes_neither_the_work_nor_the_status(
    last: Answer, status: int, said: str, stage: Stage
) -> None:
    stage.fifo("begun")
    stage.fifo("go")
    work = Shell("echo x > begun; read word < go; echo one > first")
    thoughts = answer(
        *(Reasoning((f"**{number}** {'x' * 2000}",)) for number in range(100)), Shell("echo two > second")
    )
    with stage.model(script(work, thoughts, last)):
        with running(stage, *_run(stage)) as process:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["seq"] == 0
            stage.wait_told(stage.workspace / "begun")
            process.stdout.close()
            process.stdout = None
            (stage.workspace / "go").write_text("go\n")
            done = told(process)
    assert (done.status, done.stderr.decode()) == (status, said)
    assert (stage.workspace / "first").exists()
    assert (stage.workspace / "second").exists()


@pytest.mark.rule("E3", "D4")
def test_a_reader_that_comes_late_misses_nothing_and_no_time_limit_passes(stage: Stage) -> None:
    stage.release.keeps_what_is_not_read()
    thoughts = [f"**{number}** {'x' * 2000}" for number in range(300)]
    with stage.model(script(answer(*(Reasoning((thought,)) for thought in thoughts), "Done."))):
        with running(stage, *_run(stage, "--idle-timeout", "2", "--timeout", "4")) as process:
            # time is the subject here: the limits must not pass while nobody reads
            with pytest.raises(Exception, match="timed out"):
                process.wait(5)
            done = told(process)
    assert done.status == 0
    assert [event["text"] for event in done.events if event["kind"] == "text_output"] == [*thoughts, "Done."]
    assert done.completion["final_text"] == "Done."
