"""Test each way to end a run once at each level."""

from __future__ import annotations

import pytest

from ..needs import PROGRAMS as PROGRAMS_OF
from ..needs import missing
from .cells import ALL_UP, PROGRAMS, Cell, Program, play
from .limits import LEVELS, available
from .scenarios import SCENARIOS, Scenario

pytestmark = [pytest.mark.real, pytest.mark.rule("K4", "N1", "N2")]


@pytest.fixture(scope="module", params=PROGRAMS)
def release(request: pytest.FixtureRequest) -> Program:
    """The program of each agent: the one from the wheel, or the newest."""
    found = PROGRAMS[request.param]()
    if not found:
        missing(PROGRAMS_OF[request.param])
    return found[0]


def _once() -> list[object]:
    """Each scenario with each level; a few of them belong to the tests of every change."""
    return [
        pytest.param(scenario, level, id=f"{scenario.name}-{level}", marks=_marks(scenario, level))
        for scenario in SCENARIOS
        for level in LEVELS
    ]


def _marks(scenario: Scenario, level: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.smoke] if scenario.smoke and level in ("pid_namespace", "guard") else []


@pytest.mark.parametrize(("scenario", "level"), _once())
def test_nothing_is_left_that_the_level_holds(scenario: Scenario, level: str, release: Program) -> None:
    if level not in available():
        missing("cgroup" if level == "cgroup" else "namespaces")
    cell = Cell(release, scenario, level, "danger-full-access", ALL_UP, span=1.0)
    # Within a second on a machine with nothing else to do: `python -m tests.kill_matrix` measures that.
    result = play(cell, within=60.0)
    if result.verdict == "skipped":
        pytest.skip(result.reason)
    assert result.verdict in ("clean", "excused"), f"{result.reason}\n{cell.command}"
