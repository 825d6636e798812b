"""Check the quirks that the package lists for a release against its observed behavior (R1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codex_adapter.runtime.programs import Version

from .subject import Subject
from .trial import Finding, Trial

__all__ = ["check_quirks"]


def check_quirks(subject: Subject, version: Version, trials: Sequence[Trial | Finding]) -> Iterator[Finding]:
    """Return a finding for each quirk that the table has otherwise than the release; one without its run is skipped."""
    runs = {trial.played.scenario: trial.played for trial in trials if isinstance(trial, Trial)}
    for quirk in subject.table.quirks:
        evidence = subject.evidence.get(quirk.name)
        run = runs.get(evidence.scenario) if evidence is not None else None
        if evidence is None or run is None:
            continue
        if evidence.shows(run, runs) != quirk.holds(version):
            told = "the table says that it holds" if quirk.holds(version) else "the table says that it does not hold"
            yield Finding(evidence.scenario, f"the quirk {quirk.name} is not so", f"{told} for this release")
