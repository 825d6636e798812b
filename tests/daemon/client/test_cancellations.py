"""Test that a client that is cancelled at any step leaves no run, process or waiting task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.abc import Instrument
from trio.lowlevel import Task
from typing_extensions import override

from codex_adapter import CodexConfig, RunRequest
from codex_adapter.daemon.client import open_daemon
from codex_adapter.testing import demo_script, write_agent

from ...runtime.survivors import Survivors
from ...waiting import SOON
from .fake_daemon import PROGRAM
from .transports import Daemon, children, see

STEPS = pytest.mark.parametrize("one_in", [4, pytest.param(1, marks=pytest.mark.nightly)])


class CancelAt(Instrument):
    """Cancels a scope before the given step of the tasks below `parent`, counted over all of them."""

    def __init__(self, scope: trio.CancelScope, step: int) -> None:
        self._scope = scope
        self._steps_left = step
        self._root = trio.lowlevel.current_task()

    @override
    def before_task_step(self, task: Task) -> None:
        if self._is_ours(task):
            self._steps_left -= 1
            if self._steps_left == 0:
                self._scope.cancel()

    def _is_ours(self, task: Task | None) -> bool:
        while task is not None and task is not self._root:
            task = None if task.parent_nursery is None else task.parent_nursery.parent_task
        return task is self._root


async def at_each_step(work: Callable[[], Awaitable[Any]], after: Callable[[], None], one_in: int) -> int:
    """Do the work again and again, cancelled so many steps later each time, until it is done; return the steps."""
    step, cancelled = 1 - one_in, True
    while cancelled:
        step += one_in
        with trio.fail_after(SOON):
            with trio.CancelScope() as scope:
                instrument = CancelAt(scope, step)
                trio.lowlevel.add_instrument(instrument)
                try:
                    await work()
                finally:
                    trio.lowlevel.remove_instrument(instrument)
            cancelled = scope.cancel_called
            after()
    return step


async def read(backend: Any, request: RunRequest) -> None:
    async with backend.open_run(request) as run:
        async for _ in run.events:
            pass
        assert (await run.wait_completed()).status.success


@pytest.mark.rule("J15", "K5")
@STEPS
async def test_a_daemon_and_its_run_can_be_cancelled_at_any_step(one_in: int) -> None:
    before = children()

    async def work() -> None:
        async with open_daemon("brief", program=PROGRAM) as backend:
            await read(backend, RunRequest(prompt="x"))

    def nothing_is_left() -> None:
        assert [child for child in children() if child not in before] == []

    assert await at_each_step(work, nothing_is_left, one_in) > 20


@pytest.mark.rule("J15", "K4", "K5")
@STEPS
async def test_a_run_can_be_cancelled_at_any_step_and_the_next_one_goes_well(
    tmp_path: Path, survivors: Survivors, one_in: int
) -> None:
    request = RunRequest(prompt="x", working_dir=str(tmp_path))
    async with Daemon(CodexConfig(binary=write_agent(tmp_path / "bin", demo_script()))) as backend:
        connection = backend._connection

        def nothing_is_left() -> None:
            assert survivors.now() == []
            assert (connection._replies, connection._listeners) == ({}, {})

        assert await at_each_step(lambda: read(backend, request), nothing_is_left, one_in) > 10
        assert (await see(backend, request)).outcome.status.success


@pytest.mark.rule("J15", "F5")
async def test_a_waiter_that_is_cancelled_takes_nothing_from_the_others(tmp_path: Path) -> None:
    request = RunRequest(prompt="x", working_dir=str(tmp_path))
    async with Daemon(CodexConfig(binary=write_agent(tmp_path / "bin", demo_script()))) as backend:
        async with backend.open_run(request) as run:
            with trio.move_on_after(0):
                await run.wait_completed()
            with trio.move_on_after(0):
                await run.events.receive()
            assert (await run.events.receive()).seq == 0
            await run.events.aclose()
            assert (await run.wait_completed()).status.success
