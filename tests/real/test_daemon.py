"""Test runs of the real CLI through the daemon and its client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from codex_adapter import Completion, RunCancelled, RunHandle
from codex_adapter.daemon.client import DaemonBackend, open_daemon
from codex_adapter.testing import Shell, answer, script

from ..waiting import SOON
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.smoke, pytest.mark.rule("C9", "J15")]

RUNS = 4


async def completed(run: RunHandle) -> tuple[list[str], Completion]:
    kinds: list[str] = [event.kind async for event in run.events]
    return kinds, await run.wait_completed()


@pytest.mark.rule("J4", "J8", "J12")
async def test_some_runs_at_once_each_have_their_events_and_their_completion(stage: Stage, tmp_path: Path) -> None:
    ended: list[tuple[list[str], Completion]] = []
    options = ["--codex", str(stage.release.binary), "--codex-home", str(stage.home), "--max-runs", "2"]
    options += ["--journal", str(tmp_path / "journal")]
    with stage.model(script(fallback=answer("Done.", delay=stage.release.pause))), trio.fail_after(3 * SOON):
        async with (
            open_daemon(*options) as backend,
            trio.open_nursery() as runs,
        ):

            async def one(backend: DaemonBackend = backend) -> None:
                async with backend.open_run(stage.request()) as run:
                    ended.append(await completed(run))

            for _ in range(RUNS):
                runs.start_soon(one)
    stage.oracle.check()
    assert len({completion.session_id for _, completion in ended}) == RUNS
    for kinds, completion in ended:
        assert [kind for kind in kinds if kind != "error"] == ["status", "status", "text_output", "status"]
        assert (completion.status.code, completion.turn, completion.final_text) == (0, "completed", "Done.")
    journals = [path.read_text().splitlines() for path in (tmp_path / "journal").iterdir()]
    assert sorted(len(kinds) + 2 for kinds, _ in ended) == sorted(map(len, journals))
    assert all(json.loads(lines[-1])["final_text"] == "Done." for lines in journals)
    assert all(json.loads(lines[0])["release"].count(".") == 2 for lines in journals)


@pytest.mark.rule("J10", "K3", "K4")
async def test_a_run_that_is_cancelled_and_one_that_is_left_leave_nothing(stage: Stage) -> None:
    options = ["--codex", str(stage.release.binary), "--codex-home", str(stage.home)]
    with stage.model(script(Shell("sleep 601"), Shell("sleep 602"), "never")) as server, trio.fail_after(3 * SOON):
        async with open_daemon(*options) as backend:
            async with backend.open_run(stage.request()) as run, backend.open_run(stage.request()) as other:
                await stage.asked(server, 2)
                run.cancel()
                with pytest.raises(RunCancelled):
                    await run.wait_completed()
                stage.oracle.look()
                other.cancel()
    stage.oracle.check()
