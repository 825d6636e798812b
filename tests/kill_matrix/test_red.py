"""Test that the oracle detects leftovers if nothing contains the CLI."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.real.claude_stage import ClaudeRelease
from tests.real.pi_stage import PiRelease
from tests.real.releases import Release, installed

from ..needs import missing
from .__main__ import options_parser
from .cells import ALL_UP, Cell, Program, play, scenario_named
from .descendants import KINDS
from .faces import BARE
from .limits import available, not_held
from .scenarios import SCENARIOS
from .summary import summary

pytestmark = [pytest.mark.real, pytest.mark.rule("K4", "N1")]

SURVIVORS = {
    "adapter-KILL": {*KINDS, "codex"},
    "adapter-TERM": {*KINDS, "codex"},
    "agent-KILL": {*KINDS} - {"foreground"},
    "agent-TERM": {*KINDS} - {"foreground"},
    "agent-STOP+adapter-KILL": {*KINDS, "codex"},
    "finish": {"own session", "deaf", "daemon", "cleared"},
}
"""What lives on with nobody to end it, at the least."""


@pytest.mark.parametrize(
    "name", [pytest.param("agent-KILL", marks=pytest.mark.smoke), *sorted(SURVIVORS.keys() - {"agent-KILL"})]
)
def test_without_containment_the_oracle_finds_what_is_left(name: str) -> None:
    if not installed():
        missing("codex")
    cell = Cell(installed()[0], scenario_named(name), BARE, "danger-full-access", ALL_UP, span=1.0)
    result = play(cell)
    assert result.verdict == "failed"
    assert {kind.partition("[")[0] for kind in result.left} >= SURVIVORS[name]
    assert cell.command in summary([result])


@pytest.mark.parametrize("level", ["cgroup", "pid_namespace", "guard", "process_group"])
def test_every_row_of_the_table_is_brought_about_and_says_what_is_not_held(level: str) -> None:
    rows = {scenario.row for scenario in SCENARIOS}
    assert len(rows) == 5
    assert all(
        not_held(row, level, available()).partition(",")[0] in ("", "cleared", "all", "no guard") for row in rows
    )


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (Release((0, 163, 0), Path("codex")), "codex"),
        (ClaudeRelease("2.1.330", Path("claude")), "claude_code"),
        (PiRelease("0.80.10", Path("pi")), "pi"),
    ],
)
def test_the_command_of_a_cell_names_all_that_it_depends_on(program: Program, kind: str) -> None:
    cell = Cell(program, scenario_named("agent-KILL"), "guard", "danger-full-access", 0.25, 1.5)
    options = options_parser().parse_args(shlex.split(cell.command)[3:])
    assert (options.agent, options.release, options.at, options.span) == (kind, str(program), 0.25, 1.5)
    assert (options.scenarios, options.levels, options.modes) == (["agent-KILL"], ["guard"], ["danger-full-access"])


def test_no_two_scenarios_have_one_name() -> None:
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS) > 20
