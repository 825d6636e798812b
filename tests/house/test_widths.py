"""Test that the gate runs some cases of each kind and the nightly run all of them."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from tests.widths import crossed, thinned

pytestmark = pytest.mark.rule("P6")


def in_gate(cases: list[ParameterSet]) -> list[tuple[object, ...]]:
    return [tuple(case.values) for case in cases if "nightly" not in {getattr(mark, "name", "") for mark in case.marks}]


def test_thinned_cases_are_all_there_and_one_in_so_many_is_in_the_gate() -> None:
    cases = thinned(["a", pytest.param("b", id="B", marks=pytest.mark.real), ("c",), "d"], 3)
    assert [case.values for case in cases] == [("a",), ("b",), ("c",), ("d",)]
    assert [case.id for case in cases] == [None, "B", None, None]
    assert {mark.name for mark in cases[1].marks if not isinstance(mark, tuple)} == {"real", "nightly"}
    assert in_gate(cases) == [("a",), ("d",)]


def test_crossed_values_are_all_there_and_each_is_in_the_gate() -> None:
    cases = crossed({"one": 1, "two": 2}, ["a", "b", "c"])
    assert [case.id for case in cases] == ["one-a", "one-b", "one-c", "two-a", "two-b", "two-c"]
    assert in_gate(cases) == [(1, "a"), (1, "c"), (2, "b")]
