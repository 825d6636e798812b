"""Test the table of releases: version parsing, unsupported options, and quirks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import codex_adapter
from codex_adapter.agents.codex import releases
from codex_adapter.agents.codex.extensions import ExecOptions
from codex_adapter.agents.codex.releases import (
    FEATURES,
    MINIMUM,
    NEEDS,
    QUIRKS,
    missing_feature,
    need,
    needs_version,
    parse_version,
    quirk,
    quirks_of,
)
from codex_adapter.core.extension_checks import SessionSelector
from codex_adapter.runtime.programs import Version

from ...rows import rows

LAST = SessionSelector()
BY_ID = SessionSelector("0199")


@pytest.mark.rule("S8")
@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("codex-cli 0.163.0\n", Version(0, 163, 0)),
        ("codex-cli 0.170.0-alpha.3\r\n", Version(0, 170, 0, "alpha.3")),
        ("codex 1.2.3", Version(1, 2, 3)),
        ("WARNING: proceeding, even though\ncodex-cli 0.44.0\n", Version(0, 44, 0)),
        ("codex-cli 0.1.2505172129\n", Version(0, 1, 2505172129)),
    ],
)
def test_a_release_is_read_from_its_own_line(printed: str, version: Version) -> None:
    assert parse_version(printed) == version


@pytest.mark.rule("S8", "R1")
@rows(
    "printed",
    [
        "",
        "codex-cli",
        "codex-cli 0.163",
        "0.163.0",
        "not codex-cli 0.163.0",
        "codex-cli 0.163.0 (x)",
        "codex-cli ٠.١.٢",
        "codex-cli 0.0.0",
        "codex-cli 0.163.0-" + "a" * 33,
        "codex-cli 9999999999.0.0",
    ],
)
def test_anything_else_is_no_release(printed: str) -> None:
    assert parse_version(printed) is None


@pytest.mark.rule("S8")
@given(st.builds(Version, *[st.integers(0, 99_999)] * 3, st.from_regex(r"\A(alpha\.[0-9]{1,3}|rc1|)\Z")))
def test_a_release_reads_as_it_shows(version: Version) -> None:
    expected = version if version[:3] != (0, 0, 0) else None
    assert parse_version(f"codex-cli {version}\n") == expected


@pytest.mark.rule("S8")
@given(st.text(max_size=60))
def test_no_output_is_too_odd_to_be_looked_at(printed: str) -> None:
    version = parse_version(printed)
    assert version is None or str(version) in printed


@pytest.mark.rule("S8", "R1")
@rows(
    ("options", "boundary", "first_has_it"),
    [
        (ExecOptions(approval_policy="on-failure"), 143, False),
        (ExecOptions(approval_policy="untrusted"), 149, False),
        (ExecOptions(add_dirs=("/a",)), 59, True),
        (ExecOptions(images=("/a.png",)), 53, True),
        (ExecOptions(resume=LAST), 63, True),
        (ExecOptions(fork=BY_ID), 155, True),
    ],
)
def test_what_a_release_lacks_is_refused_from_the_boundary_on(
    options: ExecOptions, boundary: int, first_has_it: bool
) -> None:
    assert needs_version(options)
    before = missing_feature(options, Version(0, boundary - 1, 9))
    after = missing_feature(options, Version(0, boundary, 0))
    pre_release = missing_feature(options, Version(0, boundary, 0, "alpha.1"))
    assert (before is None, after is None, pre_release is None) == (not first_has_it, first_has_it, first_has_it)
    clause = before or after
    assert clause is not None
    assert f"0.{boundary}.0" in clause


@pytest.mark.rule("S8", "R1")
@pytest.mark.parametrize(
    "options",
    [
        ExecOptions(),
        ExecOptions(approval_policy=None),
        ExecOptions(approval_policy="on-request", sandbox_mode="danger-full-access", model="m"),
        ExecOptions(resume=BY_ID, output_schema={"type": "object"}, tool_payloads="full"),
    ],
)
def test_what_every_release_can_do_asks_for_no_version(options: ExecOptions) -> None:
    assert not needs_version(options)
    assert missing_feature(options, None) is None
    assert missing_feature(options, Version(0, 44, 0)) is None
    assert missing_feature(options, Version(0, 169, 0)) is None


@pytest.mark.rule("S8", "R1")
@pytest.mark.parametrize("version", [None, Version(0, 98, 0), Version(0, 169, 0), Version(9, 0, 0)])
def test_no_release_can_fork_the_last_session(version: Version | None) -> None:
    assert "no release can fork the last session" in str(missing_feature(ExecOptions(fork=LAST), version))


@pytest.mark.rule("S8", "R1")
def test_an_unknown_release_is_refused_nothing_else() -> None:
    options = ExecOptions(approval_policy="untrusted", add_dirs=("/a",), images=("/a",), resume=LAST)
    assert missing_feature(options, None) is None


@pytest.mark.rule("S8", "R1")
@pytest.mark.parametrize("version", [Version(0, 43, 9), Version(0, 42, 0), Version(0, 1, 2505172129)])
def test_releases_before_thread_events_are_refused(version: Version) -> None:
    assert "older than 0.44.0" in str(missing_feature(ExecOptions(), version))


@pytest.mark.rule("S8", "R1")
@given(st.builds(Version, st.integers(0, 9), st.integers(170, 999), st.integers(0, 9)))
def test_newer_releases_than_the_known_ones_can_do_what_the_newest_can(version: Version) -> None:
    options = ExecOptions(add_dirs=("/a",), images=("/a",), fork=BY_ID)
    assert missing_feature(options, version) is None


ROWS = (*FEATURES, *NEEDS, *QUIRKS)
KNOWN = [Version(0, minor, 0) for minor in range(MINIMUM.minor, 170)]


@pytest.mark.rule("R1")
def test_each_feature_has_one_boundary_and_each_need_its_first_release() -> None:
    assert all((row.since is None) != (row.until is None) for row in FEATURES)
    assert all(row.since is not None and row.until is None for row in NEEDS)


@pytest.mark.rule("R1")
def test_each_row_has_a_name_of_its_own_and_holds_for_some_supported_release() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert [row.name for row in ROWS if not row.name.isidentifier() or row.about.endswith(".")] == []
    assert [row.name for row in ROWS if not any(row.holds(version) for version in KNOWN)] == []
    assert len({row.about for row in ROWS}) == len(ROWS)


@pytest.mark.rule("R1")
def test_a_row_is_found_by_its_name() -> None:
    assert [need(row.name) for row in NEEDS] == list(NEEDS)
    assert [quirk(row.name) for row in QUIRKS] == list(QUIRKS)
    for find, unknown in ((need, "usage_of_thread"), (quirk, "hooks")):
        with pytest.raises(KeyError):
            find(unknown)


@pytest.mark.rule("R1")
@rows(
    ("name", "first", "last"),
    [
        ("usage_of_thread", 80, None),
        ("sigint_is_success", None, 119),
        ("command_completion_lost", 120, 146),
        ("resume_takes_few_flags", None, None),
        ("lists_models", 125, None),
        ("snapshot_restores_excluded", None, 157),
    ],
)
def test_a_quirk_holds_from_its_first_release_to_its_last(name: str, first: int | None, last: int | None) -> None:
    held = [minor for minor in range(44, 200) if name in quirks_of(Version(0, minor, 3, "alpha.1"))]
    assert (held[0], held[-1]) == (first or 44, last or 199)
    assert held == list(range(held[0], held[-1] + 1))


@pytest.mark.rule("R1")
def test_no_other_module_has_the_number_of_a_release() -> None:
    root = Path(codex_adapter.__file__).parent
    tables = {*root.glob("agents/*/releases.py")}
    assert Path(releases.__file__) in tables
    others = [path for path in root.rglob("*.py") if path not in tables]
    assert len(others) > 100
    found = [f"{path}:{line}" for path in others for line in _release_numbers(ast.parse(path.read_text()))]
    assert found == []
    assert len(list(_release_numbers(ast.parse("A = (0, 44, 0)\nB = Version(0, 158, 0)\nC = release(158)")))) == 2


def _release_numbers(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of tuples and calls that give a release of the CLI in numbers."""
    for node in ast.walk(tree):
        parts = node.elts if isinstance(node, ast.Tuple) else node.args if isinstance(node, ast.Call) else []
        numbers = [part.value for part in parts if isinstance(part, ast.Constant) and type(part.value) is int]
        if len(numbers) >= 3 and numbers[0] == 0 and numbers[1] >= MINIMUM.minor:
            assert isinstance(node, ast.expr)
            yield node.lineno
