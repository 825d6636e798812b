"""Test that no descendant survives its run, for every kind, every ending and every level."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_adapter import RunCancelled, RunRequest, RunTimedOut
from codex_adapter.runtime.containment.containment import Level
from codex_adapter.testing import Hang

from .agents import DESCENDANTS, WHOLE_TURN, backend, config, kinds_of, start_all_kinds
from .survivors import Survivors

ESCAPES = {"process_group": {"cleared environment, own session"}}
"""What a level cannot hold; another level holds every kind."""


@pytest.mark.rule("K4", "N1", "N4")
@pytest.mark.parametrize("ending", ["natural", "cancel", "timeout", "exception", "left"])
@pytest.mark.fault(
    "resources",
    "The agent leaves daemons, sessions, and processes that ignore signals or clear their environment",
    "No process survives, except those that the level is documented not to contain",
)
async def test_no_descendant_survives_but_those_that_a_level_cannot_hold(
    tmp_path: Path, level: Level, ending: str, survivors: Survivors, clock: MockClock
) -> None:
    ends_by_itself = ending in {"natural", "left"}
    rest = WHOLE_TURN if ends_by_itself else [*WHOLE_TURN[:2], Hang()]
    runs = backend(level, config(tmp_path, *start_all_kinds(), *rest, stop_timeout=0.9))
    request = RunRequest(prompt="x", timeout=600 if ending == "timeout" else None, env=survivors.env)
    with contextlib.suppress(RunCancelled, RunTimedOut, KeyError):
        async with runs.open_run(request) as run:
            if ending == "left":
                await run.events.aclose()
            else:
                await run.events.receive()
            if not ends_by_itself:
                assert kinds_of(tmp_path, {process.inner for process in survivors.now()}) == DESCENDANTS.keys()
            if ending == "cancel":
                run.cancel()
            elif ending == "exception":
                raise KeyError
            elif ending == "timeout":
                await run.events.aclose()  # no limit passes while an event waits for its reader
                await wait_all_tasks_blocked()
                clock.jump(600)
            elif ending == "natural":
                async for _ in run.events:
                    pass
            await run.wait_completed()
    left = survivors.now()
    assert kinds_of(tmp_path, {process.inner for process in left}) == ESCAPES.get(level, set())
    assert len(left) == len(ESCAPES.get(level, ()))
