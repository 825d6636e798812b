"""Test hundreds of runs in one process, in parallel and in sequence, without leftovers."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import pytest
import trio

from codex_adapter import CodexConfig, Completion, Event, ExitStatus, RunRequest, open_run
from codex_adapter.events import TextPart

AT_ONCE: Final = 200
IN_A_ROW: Final = (40, pytest.param(300, marks=pytest.mark.nightly))
BROKEN_OFF: Final = (50, pytest.param(200, marks=pytest.mark.nightly))
SECONDS: Final = 90
THREAD: Final = "0199a213-81c0-7800-8aa1-{number:012d}"
# Exits with the run's number, cut to five; waits for the test, when that gives it something to wait for.
AGENT: Final = """#!/bin/sh
read -r prompt
id=$(printf '0199a213-81c0-7800-8aa1-%012d' "$NUMBER")
printf '{"type":"thread.started","thread_id":"%s"}\\n{"type":"turn.started"}\\n' "$id"
if [ -n "$GATE" ]; then read -r _ < "$GATE"; fi
for n in 1 2 3 4 5; do
  printf '{"type":"item.completed","item":{"id":"item_%d","type":"agent_message","text":"%s, %d"}}\\n' $n "$prompt" $n
done
printf '{"type":"turn.completed","usage":{"input_tokens":%d}}\\n' "$NUMBER"
exit $((NUMBER % 5))
"""


class Runs:
    """Makes runs of one agent, and looks what they have left."""

    def __init__(self, directory: Path) -> None:
        binary = directory / "codex"
        binary.write_text(AGENT)
        binary.chmod(0o755)
        self._config = CodexConfig(binary=str(binary), default_working_dir=str(directory))

    async def run(self, number: int, gate: str = "", begun: trio.abc.SendChannel[int] | None = None) -> None:
        """One run, from its request to its completion; tells `begun` when the agent has begun."""
        request = RunRequest(prompt=f"run {number}\n", env={"NUMBER": str(number), "GATE": gate})
        async with open_run(request, config=self._config) as run:
            events = [await run.events.receive(), await run.events.receive()]
            if begun is not None:
                await begun.send(number)
            events += [event async for event in run.events]
            completion = await run.wait_completed()
        assert_right(number, events, completion)


def assert_right(number: int, events: list[Event], completion: Completion) -> None:
    """The run has told its own story, whole and without a gap."""
    code, session = number % 5, THREAD.format(number=number)
    assert [event.seq for event in events] == list(range(8 if code == 0 else 9))
    assert [event.text for event in events if event.text] == [f"run {number}, {n}" for n in range(1, 6)]
    items = [event.data.item_id for event in events if isinstance(event.data, TextPart)]
    assert items == [f"item_{n}" for n in range(1, 6)]
    last = f"codex exited non-zero: exit status: {code} (stderr redacted)"
    assert [event.message for event in events if event.kind == "error"] == ([last] if code else [])
    assert completion == Completion(
        status=ExitStatus(code=code),
        final_text=None if code else f"run {number}, 5",
        session_id=session,
        turn="completed",
        usage={"input_tokens": number},
    )


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.fixture
async def nothing_left(runs: Runs) -> AsyncIterator[None]:
    """No descriptor, no child and no thread more than after one run, but idle ones that trio keeps for others."""
    await runs.run(0)
    before = _descriptors(), _children()
    yield
    assert (_descriptors(), _children()) == before
    threads = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    assert [thread for thread in threads if not thread.name.startswith("Trio thread")] == []
    # Those of the limiter of trio, and as many that ask file systems.
    assert len(threads) <= 2 * trio.to_thread.current_default_thread_limiter().total_tokens


def _descriptors() -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in Path("/proc/self/fd").iterdir():
        # The one by which the directory is read is gone already.
        with contextlib.suppress(FileNotFoundError):
            found[entry.name] = str(entry.readlink())
    return found


def _children() -> list[str]:
    return [pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[int]:
    """The descriptor of a pipe of which each waiting agent takes one byte."""
    os.mkfifo(tmp_path / "gate")
    opened = os.open(tmp_path / "gate", os.O_RDWR)
    yield opened
    os.close(opened)


@pytest.mark.rule("F1", "F2", "F3", "D2", "K4", "S5")
@pytest.mark.fault(
    "resources",
    "200 runs are active in one process",
    "Each run yields all its events and its completion, and leaves nothing open",
)
async def test_two_hundred_runs_at_once_are_each_right(runs: Runs, gate: int, nothing_left: None) -> None:
    begun, beginning = trio.open_memory_channel[int](0)
    with trio.fail_after(SECONDS):
        async with trio.open_nursery() as nursery:
            for number in range(AT_ONCE):
                nursery.start_soon(runs.run, number, "gate", begun)
            assert {await beginning.receive() for _ in range(AT_ONCE)} == set(range(AT_ONCE))
            assert len(_children()) >= AT_ONCE
            os.write(gate, b"\n" * AT_ONCE)


@pytest.mark.rule("F1", "F2", "F3", "D2", "K4")
@pytest.mark.fault(
    "resources",
    "Hundreds of runs follow each other in one process",
    "The number of processes, threads and descriptors equals that after one run",
)
@pytest.mark.parametrize("count", IN_A_ROW)
async def test_hundreds_of_runs_in_a_row_are_each_right(runs: Runs, nothing_left: None, count: int) -> None:
    with trio.fail_after(SECONDS):
        for number in range(count):
            await runs.run(number)


@pytest.mark.rule("K4", "K5")
@pytest.mark.fault("resources", "A caller aborts many runs at once", "No process, thread or descriptor remains")
@pytest.mark.parametrize("count", BROKEN_OFF)
async def test_many_runs_that_are_broken_off_at_once_leave_nothing(
    runs: Runs, gate: int, nothing_left: None, count: int
) -> None:
    begun, beginning = trio.open_memory_channel[int](0)
    with trio.fail_after(SECONDS):
        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(runs.run, number, "gate", begun)
            for _ in range(count):
                await beginning.receive()
            nursery.cancel_scope.cancel()
