"""Test recordings as sources: files, open pipes, and invalid ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from codex_adapter import InvalidRequestError, open_replay

LINES = [
    b'{"type":"thread.started","thread_id":"t"}\n',
    b'{"type":"turn.started"}\n',
    b'{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"hello"}}\n',
    b'{"type":"turn.completed"}',
]


@pytest.mark.rule("Y1", "Y2")
async def test_a_file_is_a_run(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(b"".join(LINES))
    async with open_replay(path) as run:
        assert [event.kind async for event in run.events] == ["status", "status", "text_output", "status"]
        completion = await run.wait_completed()
    assert (completion.final_text, completion.turn, completion.status.code) == ("hello", "completed", 0)


@pytest.mark.rule("Y1")
async def test_the_exit_status_is_what_the_caller_says(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(LINES[0])
    async with open_replay(str(path), exit_status=-9) as run:
        assert [event.message async for event in run.events][-1] is not None
        assert (await run.wait_completed()).status.signal == "SIGKILL"


@pytest.mark.rule("Y1", "D1")
async def test_a_pipe_is_replayed_as_it_is_written_and_stays_the_callers() -> None:
    read_end, write_end = os.pipe()
    async with open_replay(read_end) as run:
        for line in LINES[:3]:
            os.write(write_end, line)
            await run.events.receive()
        os.close(write_end)
        with pytest.raises(trio.EndOfChannel):
            await run.events.receive()
        assert (await run.wait_completed()).turn == "cut_off"
    os.close(read_end)


@pytest.mark.fault("timing", "A recording's pipe stays silent forever", "A caller can cancel the run")
@pytest.mark.rule("Y1", "K3")
async def test_a_pipe_that_stays_silent_can_be_cancelled() -> None:
    read_end, write_end = os.pipe()
    with trio.move_on_after(0.05) as scope:
        async with open_replay(read_end) as run:
            await run.events.receive()
    assert scope.cancelled_caught
    os.close(read_end)
    os.close(write_end)


@pytest.mark.rule("Y1")
async def test_an_interval_is_kept_before_each_line(tmp_path: Path, autojump_clock: MockClock) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(b"".join(LINES) + b"\n")
    times = []
    async with open_replay(path, interval=2.0) as run:
        async for _ in run.events:
            times.append(trio.current_time())
    assert times == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.rule("Y2")
@pytest.mark.parametrize("name", ["missing.jsonl", ".", "nul\0byte"])
async def test_what_is_no_recording_is_refused_without_its_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequestError, match="recording") as caught:
        async with open_replay(f"{tmp_path}/{name}"):
            pass
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.rule("Y2")
@pytest.mark.parametrize("interval", [-1.0, float("nan"), float("inf")])
async def test_an_interval_that_is_none_is_refused(interval: float) -> None:
    with pytest.raises(InvalidRequestError, match="interval"):
        async with open_replay("/dev/null", interval=interval):
            pass


@pytest.mark.rule("Y1")
async def test_a_device_without_end_of_its_own_is_read_too() -> None:
    async with open_replay("/dev/null") as run:
        assert [event async for event in run.events] == []
        assert (await run.wait_completed()).turn is None
