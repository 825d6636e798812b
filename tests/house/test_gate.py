"""Test that a case that fails by chance does not fail the gate, and which tests a change affects."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..affected import ROOT, TABLE, affected
from ..gate import main
from ..needs import has_no_such_case
from ..rows import rows

pytestmark = pytest.mark.rule("P6")

CASES = """
import pathlib

def test_by_chance():
    seen = pathlib.Path(__file__).with_name("seen")
    before = seen.exists()
    seen.touch()
    assert before

def test_right():
    pass
"""


def test_what_fails_by_chance_is_named_and_what_always_fails_is_red(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cases = tmp_path / "test_cases.py"
    arguments = ["-q", "-c", "/dev/null", "--rootdir", str(tmp_path), str(cases)]
    cases.write_text(CASES)
    assert main(arguments) == 0
    assert capfd.readouterr().out.endswith("\nflaky: test_cases.py::test_by_chance\n")
    cases.write_text(CASES.replace("assert before", "assert False"))
    assert main(arguments) == 1
    assert capfd.readouterr().out.endswith("\nfailed: test_cases.py::test_by_chance\n")


def test_each_path_of_the_table_of_affected_tests_is_there() -> None:
    assert [prefix for prefix in TABLE if not (ROOT / prefix).is_dir()] == []
    assert [pattern for patterns in TABLE.values() for pattern in patterns if not list(ROOT.glob(pattern))] == []


def test_a_change_is_tested_by_its_folder_and_one_of_all_by_all() -> None:
    assert affected(["docs/index.md", "README.md"]) == ["tests/docs", "tests/house"]
    assert affected(["tests/cli/test_run.py"]) == ["tests/cli", "tests/house"]
    assert affected(["codex_adapter/agents/pi/options.py"]) == sorted(TABLE["codex_adapter/agents/pi/"])
    assert affected(["docs/index.md", "codex_adapter/core/state.py"]) == ["tests"]
    assert affected(["tests/test_text.py"]) == ["tests/house", "tests/test_text.py"]
    assert affected(["tests/cli/command.py"]) == affected(["docs/index.md", "tests/rows.py"]) == ["tests"]


def test_a_table_names_each_row_that_failed_and_runs_all() -> None:
    seen: list[int] = []

    @rows("number", [1, 2, 3, 4], ids=str)
    def case(number: int) -> None:
        seen.append(number)
        if number == 4:
            has_no_such_case("four")
        assert number != 2
        assert number != 3, "three"

    with pytest.raises(ExceptionGroup, match=r"^2 rows failed: 2, 3$") as caught:
        case()
    assert seen == [1, 2, 3, 4]
    assert caught.value.exceptions[1].__notes__ == ["row: 3"]
    with pytest.raises(ValueError, match="without rows"):
        rows("number", [])
