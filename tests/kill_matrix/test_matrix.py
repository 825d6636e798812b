"""Test each way to end a run once at each level."""

from __future__ import annotations

import pytest

from tests.real.claude_stage import ClaudeRelease, installed_claude
from tests.real.releases import Release, installed

from .cells import ALL_UP, Cell, Program, play
from .limits import LEVELS, available
from .scenarios import SCENARIOS, Scenario

pytestmark = [pytest.mark.real, pytest.mark.rule("K4", "N1", "N2")]


@pytest.fixture(scope="module")
def release() -> Release:
    """The CLI from the wheel, else the first that there is."""
    found = installed()
    if not found:
        pytest.skip("no Codex CLI: install openai-codex-cli-bin, or set CODEX_RELEASES")
    return found[0]


@pytest.fixture(scope="module")
def claude() -> ClaudeRelease:
    """The newest Claude Code."""
    found = installed_claude()
    if not found:
        pytest.skip("no Claude Code: install claude-agent-sdk, or set CLAUDE_RELEASES")
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
def test_nothing_is_left_that_the_level_holds(scenario: Scenario, level: str, release: Release) -> None:
    _held(Cell(scenario, level, "danger-full-access", ALL_UP, span=1.0), release)


@pytest.mark.parametrize(("scenario", "level"), _once())
def test_nothing_of_claude_code_is_left_that_the_level_holds(
    scenario: Scenario, level: str, claude: ClaudeRelease
) -> None:
    if scenario.node:
        pytest.skip("it has no launcher of its own")
    _held(Cell(scenario, level, "danger-full-access", ALL_UP, span=1.0), claude)


def _held(cell: Cell, release: Program) -> None:
    if cell.level not in available():
        pytest.skip(f"this machine has no containment of the level {cell.level}")
    result = play(cell, release)
    if result.verdict == "skipped":
        pytest.skip(result.reason)
    assert result.verdict in ("clean", "excused"), f"{result.reason}\n{cell.command}"
