"""Test hostile output of processes: stderr, single-byte writes, two writers, and early ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codex_adapter import BackendError, Completion, ExitStatus, RunRequest, collect, open_run
from codex_adapter.testing import (
    CloseStdout,
    Exit,
    Hang,
    PrintBytes,
    PrintFile,
    ReadPrompt,
    Repeat,
    Step,
    WaitFor,
    WriteFile,
    WriteStderr,
)

from ..agents.agent_lines import as_line
from ..agents.codex.sample_lines import CODEX_LINES
from ..runtime.agents import WHOLE_TURN, config
from ..runtime.scripted import DONE, THREAD, TURN, say
from .lines import told

REQUEST = RunRequest(prompt="x")
NOTHING = Completion(status=ExitStatus(code=0))


def printed(data: bytes) -> list[Step]:
    return [PrintBytes(data)]


@pytest.mark.fault("stream", "The agent writes one byte at a time", "The adapter yields the events of whole lines")
@pytest.mark.rule("L5", "D2")
async def test_single_bytes_are_the_events_of_whole_lines(tmp_path: Path) -> None:
    (tmp_path / "recorded").write_bytes(CODEX_LINES.recorded)
    settings = config(tmp_path, PrintFile(str(tmp_path / "recorded"), piece=1))
    async with open_run(REQUEST, config=settings) as run:
        assert [event.text or event.message async for event in run.events] == told(CODEX_LINES, CODEX_LINES.recorded)
        assert (await run.wait_completed()).turn == "completed"


@pytest.mark.fault(
    "stream",
    "The agent fills the stderr pipe with binary noise before the first line",
    "The output contains none of the noise",
)
@pytest.mark.fault("stream", "The agent floods stderr after the turn", "The adapter drains it, and the turn is valid")
@pytest.mark.rule("S7", "X1", "F2")
async def test_noise_on_stderr_neither_blocks_the_run_nor_shows(tmp_path: Path) -> None:
    noise = WriteStderr("\0\x1b[31mcanary\ud800"[:-1], size=300_000)
    async with open_run(REQUEST, config=config(tmp_path, noise, *WHOLE_TURN, noise)) as run:
        seen = [repr(event) async for event in run.events]
        seen.append(repr(await run.wait_completed()))
    assert len(seen) == 5
    assert "canary" not in "".join(seen)


@pytest.mark.rule("F2", "F8", "L1")
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            [CloseStdout()], marks=pytest.mark.fault("stream", "The agent closes stdout at once", "The run has no turn")
        ),
        pytest.param(
            [CloseStdout(), ReadPrompt(), WriteStderr("x", size=100_000)],
            marks=pytest.mark.fault(
                "stream", "The agent closes stdout but keeps stderr and the prompt open", "The run has no turn"
            ),
        ),
        pytest.param(
            [Exit(0)], marks=pytest.mark.fault("stream", "The agent exits at once with status 0", "The run has no turn")
        ),
    ],
)
async def test_an_agent_that_prints_nothing_is_a_run_without_a_turn(tmp_path: Path, steps: list[Step]) -> None:
    assert await collect(REQUEST, config=config(tmp_path, *steps)) == NOTHING


@pytest.mark.fault(
    "stream", "The last line of the turn has no newline and the agent keeps running", "The turn is complete at once"
)
@pytest.mark.rule("L3", "F8", "K6", "D1")
async def test_a_last_line_without_its_newline_ends_the_turn_of_an_agent_that_lives_on(tmp_path: Path) -> None:
    stdout = (THREAD + TURN + say("done") + DONE).rstrip(b"\n")
    settings = config(tmp_path, *printed(stdout), CloseStdout(), WaitFor("seen"), Hang(), exit_grace=0.3)
    async with open_run(REQUEST, config=settings) as run:
        for _ in range(4):
            last = await run.events.receive()
        (tmp_path / "seen").touch()
        assert last.kind == "status"
        await run.events.aclose()
        completion = await run.wait_completed()
    assert (completion.turn, completion.final_text) == ("completed", "done")


@pytest.mark.fault(
    "stream",
    "Another process prints into the middle of a line",
    "The line yields one error; the other lines stay valid",
)
@pytest.mark.rule("L4", "D2")
async def test_two_writers_spoil_the_line_that_they_share_alone(tmp_path: Path) -> None:
    line = say("lost")
    shared = line[:20] + line + line[20:]
    async with open_run(REQUEST, config=config(tmp_path, *printed(say("a") + shared + say("b")))) as run:
        first, *bad, last = [event async for event in run.events]
    assert (first.text, last.text) == ("a", "b")
    assert bad
    assert all((event.message or "").startswith("codex stream parse error") for event in bad)


@pytest.mark.fault("stream", "Stdout is full when the timeout kills the agent", "The run ends with the timeout")
@pytest.mark.rule("K1", "K4", "D4")
async def test_a_full_stdout_does_not_keep_a_run_from_its_end(tmp_path: Path) -> None:
    flood = Repeat(say("x" * 1_000).decode().rstrip("\n"))
    async with open_run(RunRequest(prompt="x", timeout=0.3), config=config(tmp_path, flood, stop_timeout=0.9)) as run:
        await run.events.aclose()
        with pytest.raises(BackendError, match="timeout"):
            await run.wait_completed()


@pytest.mark.fault("stream", "The agent prints after its turn and then exits", "The adapter reports all its output")
@pytest.mark.rule("D1", "F2")
async def test_what_is_printed_after_the_turn_is_told_too(tmp_path: Path) -> None:
    late = printed(say("late", 1) + as_line({"type": "error", "message": "late too"}))
    steps = [*WHOLE_TURN, WaitFor("go"), *late, WriteFile("printed")]
    async with open_run(REQUEST, config=config(tmp_path, *steps)) as run:
        for _ in range(4):
            await run.events.receive()
        (tmp_path / "go").touch()
        assert [event.text or event.message async for event in run.events] == ["late", "late too"]
        assert (await run.wait_completed()).final_text == "late"


@pytest.mark.fault(
    "stream", "The agent never reads the prompt, and its output exceeds any pipe", "The run does not block"
)
@pytest.mark.rule("S3", "D4")
async def test_an_unread_prompt_and_a_long_output_do_not_wait_for_each_other(tmp_path: Path) -> None:
    flood = Repeat(say("x" * 1_000).decode().rstrip("\n"), count=2_000)
    settings = config(tmp_path, flood, *WHOLE_TURN)
    completion = await collect(RunRequest(prompt="x" * 2_000_000), config=settings)
    assert completion.final_text == "done"


@pytest.mark.fault(
    "stream",
    "The writer of a recording dies while the adapter replays it from a pipe",
    "The turn is cut off and the replay has a completion",
)
@pytest.mark.rule("Y1", "L3", "F2")
async def test_a_recording_whose_writer_dies_is_a_turn_cut_off() -> None:
    from codex_adapter import open_replay

    reader, writer = os.pipe()
    os.write(writer, CODEX_LINES.recorded[:-40])
    os.close(writer)
    async with open_replay(reader) as run:
        assert len([event async for event in run.events]) == CODEX_LINES.recorded.count(b"\n")
        assert (await run.wait_completed()).turn == "cut_off"
    os.close(reader)
