"""Test the exit status, signals and end of an agent in a process without pidfds."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import trio

from codex_adapter import RunCancelled, RunRequest
from codex_adapter.runtime.containment.containment import Level
from codex_adapter.runtime.containment.exits import open_pidfd, wait_for_exit, why_no_pidfd
from codex_adapter.testing import Exit, Hang

from .agents import WHOLE_TURN, backend, config
from .survivors import Survivors

pytestmark = pytest.mark.rule("N6")


@pytest.fixture(params=["missing", "refused"], autouse=True)
def without_pidfds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have none: Python does not know them, or the kernel does not."""
    if request.param == "missing":
        monkeypatch.delattr("os.pidfd_open")
    else:

        def refuse(_: int) -> int:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

        monkeypatch.setattr("os.pidfd_open", refuse)


def test_there_is_a_reason_and_no_descriptor() -> None:
    assert why_no_pidfd()
    assert open_pidfd(os.getpid()) is None


async def test_an_agent_is_waited_for_and_its_status_known(level: Level, tmp_path: Path, survivors: Survivors) -> None:
    request = RunRequest(prompt="x", env=survivors.env)
    async with backend(level, config(tmp_path, *WHOLE_TURN, Exit(7))).open_run(request) as run:
        await run.events.aclose()
        assert (await run.wait_completed()).status.code == 7
    assert survivors.now() == []


async def test_an_agent_that_hangs_is_ended(level: Level, tmp_path: Path, survivors: Survivors) -> None:
    request = RunRequest(prompt="x", env=survivors.env)
    async with backend(level, config(tmp_path, *WHOLE_TURN[:2], Hang())).open_run(request) as run:
        await run.events.receive()
        run.cancel()
        await run.events.aclose()
        with pytest.raises(RunCancelled):
            await run.wait_completed()
    assert survivors.now() == []


@pytest.mark.rule("F1")
async def test_a_child_that_something_else_reaped_is_an_error_and_no_endless_wait() -> None:
    child = os.spawnlp(os.P_NOWAIT, "true", "true")  # noqa: ASYNC220 - it does not block
    with trio.fail_after(60):
        assert (await wait_for_exit(child, None)).si_status == 0
        os.waitpid(child, 0)  # noqa: ASYNC222 - it has exited
        with pytest.raises(ChildProcessError):
            await wait_for_exit(child, None)
