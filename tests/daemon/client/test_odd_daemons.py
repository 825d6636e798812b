"""Test programs that violate the protocol: requests fail, no task waits, and the program is ended."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from codex_adapter import BackendError, RunCancelled, RunRequest, RunTimedOut
from codex_adapter.daemon.client import open_daemon
from tests.widths import thinned

from ...waiting import SOON
from .fake_daemon import PROGRAM, WRONG, WRONG_OF_RUNS
from .transports import children, see

GONE = "codex backend error: other (details redacted when unsafe)"
REQUEST = RunRequest(prompt="x", env={"SECRET": "swordfish"})


def fake(behaviour: str, *report: Path) -> Any:
    return open_daemon(behaviour, *map(str, report), program=PROGRAM)


@pytest.fixture
def quick_clock() -> MockClock:
    """For what only patience ends: `hasten` makes fifteen seconds of each, once what must come before is there."""
    return MockClock(rate=1)


def hasten(clock: MockClock) -> None:
    clock.rate = 15


@pytest.fixture
def slow_clock() -> MockClock:
    """A tenth of a second in each second."""
    return MockClock(rate=0.1)


@pytest.mark.rule("J15")
@pytest.mark.parametrize(
    "behaviour",
    thinned(
        [
            *(f"first {name}" for name in WRONG),
            "another version",
            "half an answer",
            "no answer in an answer",
            "an error",
        ],
        3,
    ),
)
@pytest.mark.fault(
    "consumer",
    "A program that is not a daemon answers the client",
    "`open_daemon` raises an error and ends the program",
)
async def test_what_does_not_answer_as_a_daemon_is_none(behaviour: str) -> None:
    with trio.fail_after(SOON):
        with pytest.raises(BackendError) as raised:
            await fake(behaviour).__aenter__()
    assert str(raised.value) == GONE
    assert raised.value.failure == "other"
    assert raised.value.advice
    assert raised.value.__context__ is None


@pytest.mark.rule("J15")
async def test_a_program_that_cannot_be_started_raises_what_the_system_says(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await open_daemon(program=[str(tmp_path / "missing")]).__aenter__()


@pytest.mark.rule("J15", "C2")
async def test_a_daemon_whose_options_are_wrong_is_none(capfd: pytest.CaptureFixture[str]) -> None:
    with trio.fail_after(SOON):
        with pytest.raises(BackendError) as raised:
            await open_daemon("--max-runs", "many").__aenter__()
    assert raised.value.advice is not None
    assert "standard error" in raised.value.advice
    assert "--max-runs" in capfd.readouterr().err


@pytest.mark.rule("J15")
@pytest.mark.parametrize("program", [("sleep", "1000"), ("yes", '{"method":"x"}')])
@pytest.mark.fault(
    "consumer", "A program never answers the client", "`open_daemon` raises an error after 30 s and ends the program"
)
async def test_a_program_that_never_answers_is_given_up(program: tuple[str, ...], quick_clock: MockClock) -> None:
    with trio.fail_after(50 * SOON):
        hasten(quick_clock)
        with pytest.raises(BackendError) as raised:
            await open_daemon(program=program).__aenter__()
    assert raised.value.failure == "other"
    assert raised.value.advice is not None
    assert "within 30 s" in raised.value.advice


@pytest.mark.rule("J15")
async def test_a_program_that_repeats_the_request_is_refused_at_once(slow_clock: MockClock) -> None:
    with trio.fail_after(20):  # that is less than the time for an answer
        with pytest.raises(BackendError) as raised:
            await open_daemon(program=["cat"]).__aenter__()
    assert raised.value.advice


@pytest.mark.rule("J15")
@pytest.mark.parametrize("behaviour", ["silent", "silent and deaf"])
async def test_a_daemon_that_never_answers_can_be_left(behaviour: str) -> None:
    with trio.fail_after(SOON):
        with trio.move_on_after(0.3) as scope:
            await fake(behaviour).__aenter__()
    assert scope.cancelled_caught


@pytest.mark.rule("J15", "F4", "F5")
@pytest.mark.parametrize("name", thinned([*WRONG, *WRONG_OF_RUNS], 3))
@pytest.mark.fault(
    "consumer",
    "The daemon violates the protocol, closes its output, exits or dies",
    "All runs of the client and all later calls end with the same error",
)
async def test_a_daemon_that_goes_wrong_ends_its_runs(name: str) -> None:
    with trio.fail_after(SOON):
        async with fake(f"then {name}") as backend:
            async with backend.open_run(REQUEST) as run:
                events = [event async for event in run.events]
                for _ in range(2):
                    with pytest.raises(BackendError) as raised:
                        await run.wait_completed()
                    assert (str(raised.value), raised.value.failure) == (GONE, "other")
                assert run.session_id == "the-session"
            with pytest.raises(BackendError) as raised:
                await backend.open_run(REQUEST).__aenter__()
            assert str(raised.value) == GONE
    assert [event.seq for event in events] == [0, 1, 2]
    assert (events[-1].kind, events[-1].message) == ("error", GONE)


@pytest.mark.rule("J15", "K3")
async def test_a_cancelled_run_of_a_lost_daemon_was_cancelled() -> None:
    with trio.fail_after(SOON):
        async with fake("then an exit") as backend, backend.open_run(REQUEST) as run:
            run.cancel()
            with pytest.raises(RunCancelled):
                await run.wait_completed()


@pytest.mark.rule("J15", "W1", "W2")
async def test_what_nobody_knows_yet_is_no_reason_to_fail() -> None:
    async with fake("stranger") as backend:
        seen = await see(backend, REQUEST)
        assert [event.seq for event in seen.events] == list(range(5_000))
        assert seen.outcome.final_text == "done"
        assert (await see(backend, REQUEST)).outcome == seen.outcome


@pytest.mark.rule("J15", "J5", "X3")
@pytest.mark.parametrize("behaviour", ["internal error", "shutting down", "unknown refusal"])
async def test_a_refusal_of_any_kind_is_a_backend_error(behaviour: str) -> None:
    async with fake(behaviour) as backend:
        outcome = (await see(backend, REQUEST)).outcome
        assert (outcome["type"], outcome["failure"], outcome["hint"]) == (BackendError, "other", None)
        assert outcome["advice"]
        assert "swordfish" not in str(outcome)


@pytest.mark.rule("J15", "W2")
@pytest.mark.parametrize(
    ("behaviour", "kind", "failure"),
    [
        ("a failure in words of its own", RunTimedOut, "timeout"),
        ("an older failure", BackendError, "other"),
        ("a later failure", BackendError, "other"),
    ],
)
async def test_the_error_of_a_run_is_that_of_its_failure_whatever_its_message(
    behaviour: str, kind: type[BackendError], failure: str
) -> None:
    async with fake(behaviour) as backend:
        outcome = (await see(backend, REQUEST)).outcome
        assert (outcome["type"], outcome["failure"], outcome["text"]) == (kind, failure, "words")


@pytest.mark.rule("J15", "K5")
@pytest.mark.parametrize("behaviour", ["late", "late refusal"])
async def test_a_run_that_is_left_before_it_is_accepted_is_ended_once_it_is(behaviour: str, tmp_path: Path) -> None:
    with trio.fail_after(SOON):
        async with fake(behaviour, tmp_path / "report") as backend:
            for _ in range(3):
                with trio.CancelScope() as scope:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(_open, backend)
                        await trio.testing.wait_all_tasks_blocked()
                        scope.cancel()
                assert scope.cancelled_caught
            assert backend._connection._listeners == {}
    assert '"seen": ["initialize", "run/start", "run/cancel", "run/start"' in (tmp_path / "report").read_text()


@pytest.mark.rule("J15", "K4", "K5")
@pytest.mark.parametrize("behaviour", ["never starts", "never ends"])
@pytest.mark.fault(
    "consumer", "A daemon hangs while the client ends a run", "The client kills the daemon, and the block exits"
)
async def test_a_daemon_that_does_not_end_a_run_is_killed(behaviour: str, quick_clock: MockClock) -> None:
    others = children()
    with trio.fail_after(50 * SOON):
        async with fake(behaviour) as backend:
            hasten(quick_clock)
            with trio.move_on_after(5) as scope:
                await _open(backend)
            assert scope.cancelled_caught
            with pytest.raises(BackendError, match="other"):
                await backend.open_run(REQUEST).__aenter__()
            while [child for child in children() if child not in others]:
                await trio.testing.wait_all_tasks_blocked()
                await trio.sleep(0.1)


@pytest.mark.rule("J15", "K4")
async def test_a_cancelled_run_ends_also_when_the_daemon_says_nothing_of_it(quick_clock: MockClock) -> None:
    with trio.fail_after(50 * SOON):
        async with fake("never ends") as backend, backend.open_run(REQUEST) as run:
            hasten(quick_clock)
            run.cancel()
            with pytest.raises(RunCancelled):
                await run.wait_completed()


@pytest.mark.rule("J15")
@pytest.mark.fault(
    "consumer", "A daemon does not exit when its stdin closes", "The client kills it at the end of the block"
)
async def test_a_daemon_that_does_not_end_is_killed(quick_clock: MockClock) -> None:
    with trio.fail_after(50 * SOON):
        async with fake("deaf") as backend:
            assert (await see(backend, REQUEST)).outcome.final_text == "done"
            hasten(quick_clock)


@pytest.mark.rule("J15")
async def test_a_wrapper_that_leaves_its_output_to_another_process_holds_nobody_up(
    tmp_path: Path, quick_clock: MockClock
) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nsleep 1000 & echo $! > "$1.pid"\nexec "$2" -I "$3" right\n')
    wrapper.chmod(0o755)
    with trio.fail_after(50 * SOON):
        async with open_daemon(program=[str(wrapper), str(wrapper), sys.executable, PROGRAM[-1]]) as backend:
            assert (await see(backend, REQUEST)).outcome.final_text == "done"
            hasten(quick_clock)
    os.kill(int((tmp_path / "wrapper.pid").read_text()), signal.SIGKILL)


async def _open(backend: Any) -> None:
    async with backend.open_run(REQUEST) as run:
        await run.wait_completed()
