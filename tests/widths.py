"""Select the test cases of the gate: at least one of each kind; the nightly run executes all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from _pytest.mark import ParameterSet

__all__ = ["crossed", "thinned"]


def thinned(cases: Iterable[Any], one_in: int) -> list[ParameterSet]:
    """Return all cases of a test, the first and then one in so many of them without the mark `nightly`.

    A tuple is the values of several arguments. Only for cases that are alike: the same kind of input, another value.
    """
    return [_case(case, in_gate=number % one_in == 0) for number, case in enumerate(cases)]


def crossed(*axes: Sequence[Any] | Mapping[str, Any]) -> list[ParameterSet]:
    """Return each combination of the values of several arguments, as few as show each value without `nightly`.

    The keys of a mapping are the names of its values in the id of a case.
    """
    named = [
        list(axis.items() if isinstance(axis, Mapping) else ((str(value), value) for value in axis)) for axis in axes
    ]
    longest = max(map(len, named))
    in_gate = {tuple(number % len(axis) for axis in named) for number in range(longest)}
    return [
        pytest.param(
            *(axis[place][1] for axis, place in zip(named, places, strict=True)),
            id="-".join(axis[place][0] for axis, place in zip(named, places, strict=True)),
            marks=() if places in in_gate else pytest.mark.nightly,
        )
        for places in product(*(range(len(axis)) for axis in named))
    ]


def _case(case: Any, *, in_gate: bool) -> ParameterSet:
    marks = () if in_gate else (pytest.mark.nightly,)
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, *marks))
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)
