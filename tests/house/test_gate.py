"""Test that a case that fails by chance does not fail the gate, and that one that always fails does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..gate import main

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
