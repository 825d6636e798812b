"""Test that an unread run does not block other runs, and that memory is bounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import trio
import trio.testing

from codex_adapter import RunHandle, RunRequest
from codex_adapter.daemon.client import open_daemon
from codex_adapter.daemon.client.remote_run import _WINDOW
from codex_adapter.runtime.backend import Backend
from codex_adapter.testing import PrintJson, ReadPrompt, Repeat, Step, WriteFile, write_agent
from codex_adapter.testing.thread_lines import thread_started, turn_completed, turn_started

from ...waiting import SOON
from .fake_daemon import EVENTS, PROGRAM

LONG: Final = '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"%s"}}' % ("m" * 500)
FLOOD: Final[tuple[Step, ...]] = (
    ReadPrompt(),
    PrintJson(thread_started()),
    PrintJson(turn_started()),
    Repeat(LONG, count=10_000),
    PrintJson(turn_completed()),
    WriteFile("printed"),
)


def asked(directory: Path) -> RunRequest:
    directory.mkdir(exist_ok=True)
    return RunRequest(prompt="x", working_dir=str(directory))


async def count(run: RunHandle) -> int:
    return len([event async for event in run.events])


@pytest.mark.rule("J15", "J9", "D4")
@pytest.mark.fault("consumer", "A consumer of one of the client's runs never reads", "The other runs complete")
async def test_a_run_that_nobody_reads_holds_up_no_other_one(tmp_path: Path) -> None:
    """One task for all: it reads one run after the other, and every one of them is under way meanwhile."""
    with trio.fail_after(2 * SOON):
        async with open_daemon("--codex", write_agent(tmp_path / "bin", FLOOD)) as backend:
            async with (
                backend.open_run(asked(tmp_path / "unread")) as unread,
                backend.open_run(asked(tmp_path / "late")) as late,
                backend.open_run(asked(tmp_path / "read")) as read,
            ):
                assert await count(read) > 10_000
                assert (await read.wait_completed()).status.success
                assert not (tmp_path / "late" / "printed").exists()
                assert await count(late) > 10_000
                assert (await late.wait_completed()).status.success
                assert not (tmp_path / "unread" / "printed").exists()
                assert (await unread.events.receive()).seq == 0
            assert (tmp_path / "unread" / "printed").exists()


def fake(report: Path) -> Any:
    return open_daemon("right", str(report), program=PROGRAM)


@pytest.mark.rule("J15", "J9")
@pytest.mark.parametrize("batches", [0, 1, 2, 5])
async def test_no_more_is_granted_than_the_consumer_has_taken(tmp_path: Path, batches: int) -> None:
    report, taken = tmp_path / "report", 0
    with trio.fail_after(SOON):
        with pytest.raises(ZeroDivisionError):  # noqa: PT012 - the block is what it leaves
            async with fake(report) as backend, backend.open_run(RunRequest(prompt="x")) as run:
                for _ in range(batches):
                    await trio.testing.wait_all_tasks_blocked(0.05)
                    taken += len(await run.events.receive_batch())
                await trio.testing.wait_all_tasks_blocked(0.05)
                raise ZeroDivisionError
    told = json.loads(report.read_text())
    assert _WINDOW <= told["granted"][0] <= _WINDOW + taken
    assert told["most_open"] <= _WINDOW


@pytest.mark.rule("J15", "J9")
async def test_a_consumer_that_reads_is_granted_all_and_not_for_every_event_anew(tmp_path: Path) -> None:
    report = tmp_path / "report"
    with trio.fail_after(SOON):
        async with fake(report) as backend:
            async with trio.open_nursery() as nursery:
                for _ in range(5):
                    nursery.start_soon(_read, backend)
    told = json.loads(report.read_text())
    assert told["sent"] == [EVENTS] * 5
    assert told["most_open"] <= _WINDOW
    assert told["seen"].count("run/credit") <= 5 * EVENTS // (_WINDOW // 2)


@pytest.mark.rule("J15", "J9", "D3")
async def test_a_run_whose_events_were_left_is_sent_no_more_of_them(tmp_path: Path) -> None:
    report = tmp_path / "report"
    with trio.fail_after(SOON):
        async with fake(report) as backend, backend.open_run(RunRequest(prompt="x")) as run:
            await run.events.receive()
            await run.events.aclose()
            assert (await run.wait_completed()).final_text == "done"
    told = json.loads(report.read_text())
    assert told["detached"] == 1
    assert told["sent"][0] <= 2 * _WINDOW


async def _read(backend: Backend) -> None:
    async with backend.open_run(RunRequest(prompt="x")) as run:
        assert await count(run) == EVENTS
        assert (await run.wait_completed()).final_text == "done"
