"""Test the source of a failed run's hint: the stream, or the end of the agent's stderr."""

from __future__ import annotations

import gc
import logging
import os
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from codex_adapter import (
    BackendError,
    CodexConfig,
    Completion,
    ExitStatus,
    RunRequest,
    RunTimedOut,
    open_replay,
    open_run,
)
from codex_adapter.agents.codex.session import SessionExpectation
from codex_adapter.agents.codex.stream.diagnosis import StderrTail
from codex_adapter.hints import Hint
from codex_adapter.runtime.pipe_reader import PipeReader
from codex_adapter.testing import Exit, PrintBytes, ReadPrompt, WriteStderr
from codex_adapter.testing import Step as AgentStep
from codex_adapter.testing.source import Step

from .agents import config
from .scripted import RECONNECT, THREAD, TURN, TURN_OF_ONE_MESSAGE, running, say, texts

pytestmark = pytest.mark.rule("F9")

WAITING = (
    b'{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}\n'
)
BROKEN = "Error loading config.toml: invalid type: integer `3`, expected a string\nin `sekrit`\n"
REFUSED = "error: unexpected argument '--sekrit' found\n\nUsage: codex exec [OPTIONS] [PROMPT]\n"


@pytest.mark.rule("K2")
async def test_an_idle_run_has_the_hint_of_the_notice_it_stands_at(autojump_clock: MockClock) -> None:
    script: list[Step] = [THREAD, TURN, WAITING]
    for _ in range(9):
        script += [10.0, WAITING]
    async with running(script, config=CodexConfig(idle_timeout=30.0)) as (run, _):
        await texts(run)
        with pytest.raises(RunTimedOut) as caught:
            await run.wait_completed()
    assert caught.value.hint == "no_network"
    assert "network" not in str(caught.value)


@pytest.mark.rule("K1")
@pytest.mark.parametrize(
    ("line", "hint"), [(WAITING, "no_network"), (RECONNECT, "time_limit"), (WAITING + say("on it goes"), "time_limit")]
)
async def test_a_run_that_is_out_of_time_has_the_hint_of_the_moment(
    line: bytes, hint: Hint | None, autojump_clock: MockClock
) -> None:
    async with running([THREAD, TURN, line, 100.0], timeout=5.0) as (run, _):
        await texts(run)
        with pytest.raises(RunTimedOut) as caught:
            await run.wait_completed()
    assert caught.value.hint == hint


@pytest.mark.rule("F8")
async def test_a_stream_that_was_closed_early_has_the_hint_of_its_end(autojump_clock: MockClock) -> None:
    async with running([THREAD, TURN, WAITING]) as (run, source):
        source._exits_by_script = True
        await texts(run)
        with pytest.raises(BackendError, match="closed unexpectedly") as caught:
            await run.wait_completed()
    assert caught.value.hint == "no_network"


async def test_a_cancelled_run_has_none() -> None:
    more = trio.Event()
    async with running([THREAD, TURN, WAITING, more]) as (run, _):
        for _ in range(3):
            await run.events.receive()
        run.cancel()
        with pytest.raises(BackendError) as caught:
            await run.wait_completed()
    assert caught.value.hint is None


@pytest.mark.rule("S9")
@pytest.mark.parametrize("wanted", ["0190a0b0-0000-7000-8000-000000000000", None])
async def test_a_session_that_is_not_there_is_unknown(wanted: str | None) -> None:
    session = SessionExpectation(wanted, fork=False, started_ms=0)
    async with running([*TURN_OF_ONE_MESSAGE], session=session) as (run, _):
        await texts(run)
        with pytest.raises(BackendError) as caught:
            await run.wait_completed()
    assert caught.value.hint == "session_unknown"


async def test_what_stderr_tells_comes_with_the_completion() -> None:
    async with running([], status=ExitStatus(code=1), stderr=b"Error: Model provider `x` not found\n") as (run, _):
        await texts(run)
        assert (await run.wait_completed()).hint == "configuration_broken"


@pytest.mark.rule("Y1")
async def test_a_recording_tells_no_more_than_its_stream(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    for lines, hint in ((b"", None), (THREAD + TURN + WAITING, "no_network")):
        path.write_bytes(lines)
        async with open_replay(path, exit_status=1) as run:
            await texts(run)
            assert (await run.wait_completed()).hint == hint


async def _completed(directory: Path, *steps: AgentStep) -> tuple[Completion, str]:
    """The completion of a real process, and all that anybody could see of the run."""
    with trio.fail_after(60):
        async with open_run(RunRequest(prompt="x"), config=config(directory, *steps)) as run:
            events = [event async for event in run.events]
            completion = await run.wait_completed()
            return completion, repr((events, completion, run, vars(run)))


@pytest.mark.rule("S7", "X1")
@pytest.mark.parametrize(
    ("steps", "hint"),
    [
        ([WriteStderr(BROKEN), Exit(1)], "configuration_broken"),
        ([ReadPrompt(), WriteStderr("noise\n", 1_800_000), WriteStderr(BROKEN), Exit(1)], "configuration_broken"),
        ([WriteStderr(BROKEN), WriteStderr("noise\n", 2_000_000), Exit(1)], None),
        ([WriteStderr(REFUSED), Exit(2)], "flag_unknown"),
        ([WriteStderr(BROKEN), Exit(3)], None),
        ([PrintBytes(THREAD + TURN), WriteStderr(BROKEN), Exit(1)], None),
        ([PrintBytes(b"".join(TURN_OF_ONE_MESSAGE)), WriteStderr(BROKEN), Exit(0)], None),
    ],
    ids=["alone", "after noise", "long ago", "usage", "other status", "after a turn began", "success"],
)
async def test_the_last_words_of_a_process_become_one_word_of_ours(
    steps: list[AgentStep],
    hint: Hint | None,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    completion, seen = await _completed(tmp_path, *steps)
    assert completion.hint == hint
    assert "sekrit" not in seen + caplog.text
    assert capfd.readouterr() == ("", "")
    tails = [thing for thing in gc.get_objects() if isinstance(thing, StderrTail)]
    assert {tail._end for tail in tails} <= {b""}


@pytest.mark.fault(
    "spawning", "An agent reports why it stops just before it exits", "The adapter reads its last message"
)
async def test_last_words_at_the_very_end_are_read_every_time(tmp_path: Path) -> None:
    for _ in range(10):
        completion, _ = await _completed(tmp_path, WriteStderr("noise\n", 60_000), WriteStderr(BROKEN), Exit(1))
        assert completion.hint == "configuration_broken"


async def test_what_is_there_can_be_read_at_once() -> None:
    read_end, write_end = os.pipe()
    reader = PipeReader(read_end)
    assert reader.receive_now(8) == b""
    os.write(write_end, b"last words")
    assert (reader.receive_now(4), reader.receive_now(100)) == (b"last", b" words")
    os.close(write_end)
    assert reader.receive_now(8) == b""
    reader.close()
    assert reader.receive_now(8) == await reader.receive_some(8) == b""
