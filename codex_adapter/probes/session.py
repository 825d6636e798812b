"""Perform all probes of an agent CLI, a few concurrently, and report the verdicts in the order of the table (C8)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import trio

from codex_adapter.findings import Finding, Verdict
from codex_adapter.probes.installed import Installed
from codex_adapter.probes.perform import perform
from codex_adapter.probes.probe import Evidence
from codex_adapter.probes.stage import Stage, isolate
from codex_adapter.probes.verdicts import judge, judge_all

__all__ = ["probe_all"]

_AT_ONCE: Final = 4
_RUN_SECONDS: Final = 60.0


async def probe_all(
    stage: Stage, root: Path, report: Callable[[Sequence[Finding | Verdict]], Awaitable[object]]
) -> str | None:
    """Report findings on the CLI, then the verdicts of all probes, and return the release of the CLI or None.

    Perform no probe if a finding is a failure, and no further probe if too many runs hang. The probes use directories
    below `root`. (C24)
    """
    for name in ("home", "tmp"):
        (root / name).mkdir()
    installed = await stage.find({**os.environ, **isolate(os.environ, root, stage), "TMPDIR": str(root / "tmp")})
    await report(installed.findings)
    if all(finding.state != "failed" for finding in installed.findings):
        session = _Session(stage, installed, root)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.perform_all)
            for one in stage.probes:
                await session.done[one.name].wait()
                await report(list(judge(one, session.evidence.get(one.name), installed.release)))
        await report(list(judge_all(list(session.evidence.values()))))
    return None if installed.release is None else str(installed.release)


class _Session:
    """The probes of one CLI. An event in `done` is set when its probe has evidence, or when it is not performed."""

    def __init__(self, stage: Stage, installed: Installed, root: Path) -> None:
        self.evidence: dict[str, Evidence] = {}
        self.done = {one.name: trio.Event() for one in stage.probes}
        self._pending = iter(enumerate(stage.probes))
        self._stage = stage
        self._installed = installed
        self._root = root

    async def perform_all(self) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(_AT_ONCE):
                nursery.start_soon(self._perform_pending, nursery.cancel_scope)
        for event in self.done.values():
            event.set()

    async def _perform_pending(self, all_probes: trio.CancelScope) -> None:
        binary = self._installed.binary
        for number, one in self._pending:
            self.evidence[one.name] = await perform(
                one,
                self._stage,
                self._root / str(number),
                binary=binary.path if binary is not None else None,
                release=self._installed.release,
                seconds=_RUN_SECONDS,
            )
            self.done[one.name].set()
            timeouts = [run for each in self.evidence.values() for run in each.runs if run.timed_out]
            if len(timeouts) >= _AT_ONCE:
                # This CLI hangs, and the next runs would hang too.
                all_probes.cancel()
