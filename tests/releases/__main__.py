"""Run releases of an agent through the adapter in every case of its catalogue: `python -m tests.releases`.

The exit status is 0 if each run equals its recording or differs only in known variations. With --write, the program
records the other runs, plays them once more and compares them. It also regenerates the page on releases. Review the
changes before you commit them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import msgspec
import trio

from . import page
from .install import install, newest, remove
from .laboratory import drive
from .report import Report, case_of, details, gather, summary
from .shelf import Shelf
from .subject import Installed, Subject
from .subjects import SUBJECTS
from .trial import Finding, Trial, judge

Trials = list[Trial | Finding]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.releases", description=__doc__)
    parser.add_argument("--agent", choices=list(SUBJECTS), default="codex", help="the kind of the agent")
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="releases; by default all that are listed")
    parser.add_argument("--newest", action="store_true", help="the release that npm has as its latest, too")
    parser.add_argument("--case", action="append", metavar="CASE", help="only this case; repeatable")
    parser.add_argument("--write", action="store_true", help="record what has changed, and write the page")
    parser.add_argument("--directory", type=Path, help="where releases are kept")
    parser.add_argument("--install-only", action="store_true", help="get the releases and drive none")
    parser.add_argument("--remove", action="store_true", help="remove each release when it is done")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="cases at the same time")
    parser.add_argument("--details", type=Path, metavar="FILE", help="write what every run gave, as JSON lines")
    options = parser.parse_args()
    subject = SUBJECTS[options.agent]
    if unknown := {*(options.case or ())} - {*subject.cases}:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    if options.directory is None:
        options.directory = Path(os.environ.get("TOX_WORK_DIR", ".tox"), f"{subject.kind}-laboratory")
    versions = [*options.versions, *([newest(subject)] if options.newest else [])] or list(subject.versions)
    if options.install_only:
        for version in versions:
            install(subject, version, options.directory.absolute())
        return 0
    reports = [_release(subject, version, options) for version in dict.fromkeys(versions)]
    sys.stdout.write("".join(summary(report) for report in reports))
    return 0 if all(report.green for report in reports) else 1


def _release(subject: Subject, version: str, options: argparse.Namespace) -> Report:
    shelf, started = Shelf(subject.kind), time.monotonic()
    release = install(subject, version, options.directory.absolute())
    cases = [subject.cases[name] for name in options.case] if options.case else subject.fitting(release.version)
    trials = trio.run(lambda: drive(subject, release, cases, shelf, at_once=options.at_once))
    if options.write:
        trials, news = _keep(subject, shelf, release, trials, whole=not options.case)
        again = [case for case in cases if case.name in news]
        trials = [trial for trial in trials if case_of(trial) not in news]
        trials += trio.run(lambda: drive(subject, release, again, shelf, at_once=options.at_once))
    report = gather(subject, release, trials, shelf, seconds=time.monotonic() - started)
    if options.details is not None:
        with options.details.open("ab") as file:
            file.writelines(msgspec.json.encode(row) + b"\n" for row in details(version, trials))
    if options.write and not options.case:
        page.write(subject, report.row)
    if options.remove:
        remove(version, options.directory.absolute())
    return report


def _keep(
    subject: Subject, shelf: Shelf, release: Installed, trials: Trials, *, whole: bool
) -> tuple[Trials, set[str]]:
    """Keep what is not as it was, and forget what is no more; the trials as they stand then, and what is news.

    News are the cases in which a run printed what no release has printed before: that is worth being kept when a second
    look finds the same.
    """
    version, news, judged = str(release.version), set(), list[Trial | Finding]()
    for trial in trials:
        judged.append(trial)
        if isinstance(trial, Trial) and any(finding.beside for finding in trial.findings):
            played = trial.played
            row = shelf.put(version, played.scenario, trial.stable, played.returncode, played.error)
            judged[-1] = judge(subject, release.version, played, trial.stable, shelf)
            if row.recording in (None, version):
                news.add(case_of(trial))
    if whole:
        seen = {trial.played.scenario for trial in trials if isinstance(trial, Trial)}
        shelf.forget(version, [row.scenario for row in shelf.runs(version) if row.scenario not in seen])
    shelf.save()
    return judged, news


if __name__ == "__main__":
    sys.exit(main())
