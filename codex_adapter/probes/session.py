"""Perform all probes of a Codex CLI, a few concurrently, and report the verdicts in the order of the table (C8)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import trio

from codex_adapter.agents.codex.command import merge_environment
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.doctor import Installed, find_installed
from codex_adapter.agents.codex.probes import PROBES, Evidence, judge, judge_all, perform
from codex_adapter.findings import Finding, Verdict

__all__ = ["probe"]

_AT_ONCE: Final = 4
_RUN_SECONDS: Final = 10.0
_SECONDS: Final = 25.0
"""Seconds for all probes together. To end the running probes takes some seconds more."""


async def probe(
    config: CodexConfig,
    root: Path,
    report: Callable[[Sequence[Finding | Verdict]], Awaitable[object]],
) -> str | None:
    """Report findings on the CLI, then the verdicts of all probes, and return the release of the CLI or None.

    Perform no probe if a finding is a failure. The probes use directories below `root`.
    """
    installed = await find_installed(config, merge_environment(os.environ, config, {}))
    await report(installed.findings)
    if all(finding.state != "failed" for finding in installed.findings):
        session = _Session(installed, root)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.perform_all)
            for one in PROBES:
                await session.done[one.name].wait()
                await report(list(judge(one, session.evidence.get(one.name), installed.release)))
        await report(list(judge_all(list(session.evidence.values()))))
    return None if installed.release is None else str(installed.release)


class _Session:
    """The probes of one CLI. An event in `done` is set when its probe has evidence or the time is over."""

    def __init__(self, installed: Installed, root: Path) -> None:
        self.evidence: dict[str, Evidence] = {}
        self.done = {one.name: trio.Event() for one in PROBES}
        self._pending = iter(enumerate(PROBES))
        self._installed = installed
        self._root = root

    async def perform_all(self) -> None:
        with trio.move_on_after(_SECONDS):
            async with trio.open_nursery() as nursery:
                for _ in range(_AT_ONCE):
                    nursery.start_soon(self._perform_pending)
        for event in self.done.values():
            event.set()

    async def _perform_pending(self) -> None:
        binary = self._installed.binary
        for number, one in self._pending:
            self.evidence[one.name] = await perform(
                one,
                self._root / str(number),
                binary=binary.path if binary is not None else None,
                release=self._installed.release,
                seconds=_RUN_SECONDS,
            )
            self.done[one.name].set()
