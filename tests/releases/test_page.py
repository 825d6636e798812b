"""Test that the page reports what the laboratory recorded for each release."""

from __future__ import annotations

import json

import pytest

from codex_adapter.agents.codex.releases import MINIMUM, QUIRKS, parse_version
from tests.regenerate_goldens import CODEX
from tests.releases.catalogue import CATALOGUE

from .evidence import EVIDENCE
from .page import PAGE, read_rows, render
from .versions import RELEASES

pytestmark = pytest.mark.rule("R2")


@pytest.mark.rule("R1")
def test_the_page_is_what_the_laboratory_writes() -> None:
    assert PAGE.read_text() == render(read_rows()), "write it anew: tox -e releases -- --write"


def test_each_listed_release_was_driven_and_none_has_anything_unexplained() -> None:
    rows = {row.version: row for row in read_rows()}
    assert set(RELEASES) <= set(rows)
    assert {row.version for row in rows.values() if row.parse_errors or row.unknown or row.different} == set()
    assert min(row.cases for row in rows.values()) >= 60


def test_the_releases_go_from_the_first_supported_to_the_newest_known() -> None:
    versions = [version for one in RELEASES if (version := parse_version(f"codex {one}")) is not None]
    assert versions == sorted(versions)
    assert (versions[0], len(versions)) == (MINIMUM, len(RELEASES))
    assert len(versions) >= 12


def test_each_run_on_the_shelf_is_of_a_case_and_points_to_what_is_there() -> None:
    rows = [json.loads(row) for row in (CODEX / "runs.jsonl").read_text().splitlines()]
    assert {row["scenario"].partition(".")[0] for row in rows} <= set(CATALOGUE)
    named = [CODEX / row["recording"] / f"{row['scenario']}.jsonl" for row in rows if "recording" in row]
    assert [path for path in named if not path.is_file()] == []


@pytest.mark.rule("R1")
def test_each_quirk_with_evidence_is_one_of_the_table() -> None:
    names = {case.name + (f".{run.name}" if run.name else "") for case in CATALOGUE.values() for run in case.runs}
    assert {evidence.scenario for evidence in EVIDENCE.values()} <= names
    assert set(EVIDENCE) <= {quirk.name for quirk in QUIRKS}
