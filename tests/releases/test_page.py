"""Test that the page on each agent's releases reports what the laboratory recorded."""

from __future__ import annotations

import json

import pytest

from tests.regenerate_goldens import FIXTURES

from .page import page_of, read_rows, render
from .subject import Subject, version_of
from .subjects import SUBJECTS

pytestmark = [pytest.mark.rule("R2"), pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)]

FEWEST_CASES = {"codex": 60, "claude_code": 25, "pi": 30}


@pytest.mark.rule("R1")
def test_the_page_is_what_the_laboratory_writes(subject: Subject) -> None:
    assert page_of(subject).read_text() == render(subject, read_rows(subject)), "write it anew: see its first line"


def test_each_listed_release_was_driven_and_none_has_anything_unexplained(subject: Subject) -> None:
    rows = {row.version: row for row in read_rows(subject)}
    assert set(subject.versions) <= set(rows)
    assert {row.version for row in rows.values() if row.parse_errors or row.unknown or row.different} == set()
    assert min(row.cases for row in rows.values()) >= FEWEST_CASES[subject.kind]


def test_the_releases_go_from_the_first_supported_to_the_newest_known(subject: Subject) -> None:
    versions = [version_of(text) for text in subject.versions]
    assert versions == sorted(versions)
    assert versions[0] == subject.table.minimum
    assert len(versions) >= 4


def test_each_run_on_the_shelf_is_of_a_case_and_points_to_what_is_there(subject: Subject) -> None:
    folder = FIXTURES / subject.kind
    rows = [json.loads(row) for row in (folder / "runs.jsonl").read_text().splitlines()]
    assert {row["scenario"].partition(".")[0] for row in rows} <= set(subject.cases)
    named = [folder / row["recording"] / f"{row['scenario']}.jsonl" for row in rows if "recording" in row]
    assert [path for path in named if not path.is_file()] == []


@pytest.mark.rule("R1")
def test_each_quirk_with_evidence_is_one_of_the_table(subject: Subject) -> None:
    names = {case.name + (f".{run.name}" if run.name else "") for case in subject.cases.values() for run in case.runs}
    assert {evidence.scenario for evidence in subject.evidence.values()} <= names
    assert set(subject.evidence) <= {quirk.name for quirk in subject.table.quirks}
