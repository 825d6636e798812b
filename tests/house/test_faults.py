"""Check that the page of faults lists every `fault` mark of the tests."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.fault_table import TABLE, TOPICS, Row, render, rows

pytestmark = pytest.mark.rule("P6")


@pytest.fixture(scope="module")
def table(root: Path) -> list[Row]:
    return list(rows(root))


def test_the_page_is_what_the_marks_say(table: list[Row]) -> None:
    assert TABLE.read_text() == render(table), "The page is out of date. Run python -m tests.fault_table."


def test_the_page_has_every_mark(root: Path, table: list[Row]) -> None:
    marks = [
        node
        for path in (root / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault"
    ]
    assert len(table) == len(marks)


def test_every_topic_is_known_and_every_fault_is_listed_once(table: list[Row]) -> None:
    assert {row.topic for row in table} == TOPICS.keys()
    assert [fault for fault, count in Counter(row.fault for row in table).items() if count > 1] == []


def test_no_cell_breaks_the_table(table: list[Row]) -> None:
    assert [row for row in table for cell in row if "|" in cell or "\n" in cell] == []
