"""Format the findings of the laboratory on a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from codex_adapter.errors import BackendError

from .quirks import check_quirks
from .shelf import Shelf
from .subject import Installed, Subject
from .trial import Finding, Trial

__all__ = ["Report", "Row", "case_of", "details", "gather", "summary"]

END_OF_STDERR = 2_000
"""Bytes."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One release in numbers, as the page tells of it.

    `different` counts the runs with findings, `explained` those that differ from their recordings in what is known to
    vary, `refused` those that the adapter refuses for this release. `seconds` are for all, from the call of npm on.
    """

    version: str
    cases: int
    runs: int
    through_adapter: int
    refused: int
    parse_errors: int
    unknown: int
    different: int
    explained: int
    recordings: int
    seconds: float


class Report(msgspec.Struct, frozen=True):
    """One release: its numbers, what was found, and the runs whose differences are explained, by what explains them."""

    row: Row
    findings: list[Finding]
    explained: dict[str, list[str]]

    @property
    def green(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def gather(
    subject: Subject, release: Installed, trials: Sequence[Trial | Finding], shelf: Shelf, *, seconds: float
) -> Report:
    """The report on these runs."""
    tried = [trial for trial in trials if isinstance(trial, Trial)]
    findings = [finding for trial in trials for finding in ([trial] if isinstance(trial, Finding) else trial.findings)]
    findings += check_quirks(subject, release.version, trials)
    explained: dict[str, list[str]] = {}
    for trial in tried:
        for name in trial.explained:
            explained.setdefault(name, []).append(trial.played.scenario)
    version = str(release.version)
    refused = str(BackendError("invalid_request").of_agent(subject.kind))
    row = Row(
        version=version,
        cases=len({case_of(trial) for trial in trials}),
        runs=len(trials),
        through_adapter=sum(trial.played.through == "adapter" for trial in tried),
        refused=sum((trial.played.error or "").startswith(refused) for trial in tried),
        parse_errors=sum(trial.parse_errors for trial in tried),
        unknown=sum(trial.unknown for trial in tried),
        different=len({finding.scenario for finding in findings}),
        explained=len({scenario for scenarios in explained.values() for scenario in scenarios}),
        recordings=sum(run.recording == version for run in shelf.runs(version)),
        seconds=round(seconds, 1),
    )
    return Report(row, findings, explained)


def case_of(trial: Trial | Finding) -> str:
    """The name of the case that was played."""
    scenario = trial.scenario if isinstance(trial, Finding) else trial.played.scenario
    return scenario.partition(".")[0]


def details(version: str, trials: Sequence[Trial | Finding]) -> Iterator[dict[str, Any]]:
    """What each run gave, for a person who looks into it; too much, and too much of one machine, to be kept."""
    for trial in trials:
        if isinstance(trial, Finding):
            yield {"version": version, "scenario": trial.scenario, "findings": [msgspec.to_builtins(trial)]}
            continue
        played = trial.played
        yield {
            "version": version,
            "scenario": played.scenario,
            "through": played.through,
            "returncode": played.returncode,
            "error": played.error,
            "requests": played.requests,
            "seconds": round(played.seconds, 2),
            "stdout": played.stdout.decode(errors="backslashreplace")[:20_000],
            "stderr": played.stderr[-END_OF_STDERR:].decode(errors="backslashreplace"),
            "findings": msgspec.to_builtins(trial.findings),
            "explained": trial.explained,
        }


def summary(report: Report) -> str:
    """A few lines for a terminal."""
    row = report.row
    lines = [
        f"{row.version}: {row.cases} cases, {row.runs} runs, {row.through_adapter} through the adapter, {row.refused} "
        f"refused, parse errors {row.parse_errors}, unknown {row.unknown}, different {row.different}, explained "
        f"{row.explained}, {row.recordings} recordings of its own, {row.seconds} s"
    ]
    lines += [f"  {finding.scenario}: {finding.what}: {finding.about}" for finding in report.findings]
    lines += [f"  explained: {name}: {', '.join(scenarios)}" for name, scenarios in report.explained.items()]
    return "".join(f"{line}\n" for line in lines)
