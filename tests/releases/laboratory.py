"""Run one release through the cases, a few in parallel, and collect the findings."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import trio

from .shelf import Shelf
from .subject import Case, Installed, Subject
from .trial import Finding, Trial, judge

__all__ = ["drive"]

HUNG = 400.0
"""Seconds after which a case, whatever time limits its runs have, is given up."""


async def drive(
    subject: Subject, release: Installed, cases: Sequence[Case], shelf: Shelf, *, at_once: int
) -> list[Trial | Finding]:
    """Play the cases with this release; a finding by itself is of a case that could not be played."""
    told: dict[str, list[Trial | Finding]] = {}
    places = trio.CapacityLimiter(at_once)

    async def one(case: Case) -> None:
        async with places:
            started = time.monotonic()
            told[case.name] = await _try(subject, case, release, shelf)
            seconds = time.monotonic() - started
            wrong = sum(isinstance(t, Finding) or bool(t.findings) for t in told[case.name])
            sys.stderr.write(f"{release.version} {case.name} {seconds:.1f} s{f', {wrong} to see' if wrong else ''}\n")

    async with trio.open_nursery() as nursery:
        for case in cases:
            nursery.start_soon(one, case)
    return [trial for case in cases for trial in told[case.name]]


async def _try(subject: Subject, case: Case, release: Installed, shelf: Shelf) -> list[Trial | Finding]:
    with tempfile.TemporaryDirectory(prefix="release-", ignore_cleanup_errors=True) as scratch:
        root = Path(scratch) / "case"
        with trio.move_on_after(HUNG):
            try:
                played = await subject.play(case, release, root)
            except (TimeoutError, ValueError, OSError, LookupError) as error:
                return [Finding(case.name, "it cannot be played", f"{type(error).__name__}: {error}")]
            stable = subject.stable(root)
            return [judge(subject, release.version, run, stable(run.stdout), shelf) for run in played]
    return [Finding(case.name, "it hangs", f"for more than {HUNG:g} s")]
