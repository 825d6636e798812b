"""Play one cell of the matrix and check what remains one second after the adapter ended."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

from codex_adapter.testing import Answer, Reasoning, Shell, answer, script
from codex_adapter.testing import Scenario as Script
from tests.real.claude_stage import ClaudeRelease, ClaudeStage, installed_claude
from tests.real.oracle import Process
from tests.real.pi_stage import PiRelease, PiStage, installed_pi
from tests.real.releases import Release, installed
from tests.real.stage import Stage

from .descendants import CLEARED, command, kind_of
from .faces import BARE, adapter_argv, launcher
from .limits import ALONE, available, not_held
from .scenarios import SCENARIOS, Scenario
from .scene import Missing, Scene

__all__ = [
    "ALL_UP",
    "MODES",
    "PROGRAMS",
    "Cell",
    "Program",
    "Result",
    "instants",
    "kind_of_program",
    "modes_of",
    "play",
    "scenario_named",
    "stage_of",
]

GONE_WITHIN = 1.0
ALL_UP = 1.1
"""An instant after 1 is after all descendants have come up."""
LAST = 1.2
SURVIVED = 2.0
"""Seconds after which a run goes on to its own end that a signal may not have ended."""
A_BIT = 0.5
"""Seconds that an instant of 2 would be after 1."""

Program = Release | ClaudeRelease | PiRelease
"""An agent CLI whose runs are ended."""
PROGRAMS: Mapping[str, Callable[[], Sequence[Program]]] = MappingProxyType(
    {"codex": installed, "claude_code": installed_claude, "pi": installed_pi}
)
"""The installed programs of each agent, by kind."""
_STAGES: Mapping[type, type[Stage]] = MappingProxyType({Release: Stage, ClaudeRelease: ClaudeStage, PiRelease: PiStage})
MODES = tuple(Stage.modes)
Verdict = Literal["clean", "excused", "skipped", "failed"]


class Cell(NamedTuple):
    """One run of a program to be ended. `at` is the instant: 0 is the start of the agent, 1 is `span` seconds later, or
    once all descendants are up; what is above 1 is after that."""

    program: Program
    scenario: Scenario
    level: str
    mode: str
    at: float
    span: float

    @property
    def command(self) -> str:
        """The command line that plays this cell again."""
        return (
            f"python -m tests.kill_matrix --agent {kind_of_program(self.program)} --release {self.program}"
            f" --scenarios {self.scenario.name} --levels {self.level} --modes {self.mode}"
            f" --at {self.at:.4f} --span {self.span:.3f}"
        )


class Result(NamedTuple):
    """What came of a cell. `seconds` is how long after the adapter's end the last process was gone."""

    cell: Cell
    verdict: Verdict
    reason: str = ""
    left: tuple[str, ...] = ()
    seconds: float = 0.0


def scenario_named(name: str) -> Scenario:
    """The scenario of this name; raises KeyError."""
    return {scenario.name: scenario for scenario in SCENARIOS}[name]


def instants(seed: int, scenario: Scenario, level: str, mode: str, count: int) -> list[float]:
    """So many random instants, one in each of as many equal parts of the time."""
    random = Random(f"{seed} {scenario.name} {level} {mode}")
    return [(number + random.random()) * LAST / count for number in range(count)]


def excuse(scenario: Scenario, level: str) -> str:
    """What this level cannot hold of this scenario, as the table of rule N1 has it; empty when it must hold all."""
    if level == BARE:
        return ""
    if scenario.actors & {"guard", "inner"}:
        if level == "process_group":
            return ALONE
        if "inner" in scenario.actors and level == "guard":
            return "one guard, no inner"
    return not_held(scenario.row, level, available())


def kind_of_program(program: Program) -> str:
    """Return the kind of the agent whose program this is."""
    return _STAGES[type(program)].agent


def stage_of(release: Program, root: Path) -> Stage:
    """The place for runs of this program."""
    return _STAGES[type(release)](cast("Any", release), root)


def modes_of(release: Program) -> Sequence[str]:
    """The sandbox modes in which this program runs commands."""
    return _STAGES[type(release)].modes


def play(cell: Cell, *, within: float = GONE_WITHIN) -> Result:
    """Play one cell; what lives on after the adapter for longer than `within` is left, and is ended afterwards."""
    scenario, release = cell.scenario, cell.program
    excused = excuse(scenario, cell.level)
    if excused and not excused.startswith(CLEARED):
        return Result(cell, "skipped", f"cannot hold: {scenario.row}: {excused}")
    if scenario.node:
        found = launcher()
        if found is None or not isinstance(release, Release):
            return Result(cell, "skipped", "no npm launcher: set CODEX_RELEASES, and have node")
        release = found
    root = Path(tempfile.mkdtemp(prefix="kill-matrix-"))
    try:
        stage = stage_of(release, root)
        if scenario.schema and not stage.takes_schema:
            return Result(cell, "skipped", "the agent takes no output schema")
        return _play(cell, stage, excused, within)
    except Missing as missing:
        return Result(cell, "failed", str(missing))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _play(cell: Cell, stage: Stage, excused: str, within: float) -> Result:
    scenario = cell.scenario
    seconds = min(cell.at, 1.0) * cell.span
    with stage.model(_script(stage, unread=scenario.unread)) as server:
        argv = adapter_argv(scenario, cell.level, cell.mode, stage, seconds + 0.1)
        with Scene(stage, server, argv) as scene:
            if scenario.timeout:
                status = scene.end()
            elif scenario.early:
                scene.wait(cell.at * cell.span, all_up=False)
                scene.act_early(scenario.steps)
                status = scene.end()
            else:
                scene.wait_for_agent()
                all_up = cell.at >= 1.0
                scene.wait((cell.at - 1.0) * A_BIT if all_up else seconds, all_up=all_up)
                scene.act(scenario.steps, scene.cast())
                status = scene.end(SURVIVED if scenario.survivable else None)
            ended = time.monotonic()
            while _is_left(left := stage.oracle.look(), excused) and time.monotonic() < ended + within:
                time.sleep(0.02)
            taken = time.monotonic() - ended
            said = scene.said()
    kinds = tuple(sorted(f"{kind_of(process)}[{process.pid} below {process.parent}]" for process in left))
    if _is_left(left, excused):
        return Result(cell, "failed", f"left: {', '.join(kinds)}", kinds, taken)
    if cell.level != BARE and status not in scenario.statuses:
        return Result(cell, "failed", f"{said}, not of {sorted(scenario.statuses)}", (), taken)
    if left:
        return Result(cell, "excused", f"cannot hold: {scenario.row}: {excused}", kinds, taken)
    return Result(cell, "clean", "", (), taken)


def _is_left(found: list[Process], excused: str) -> bool:
    """Whether any process is found that is not excused."""
    return bool(found) and not (excused and {kind_of(process) for process in found} == {CLEARED})


def _script(stage: Stage, *, unread: bool) -> Script:
    thoughts = [Reasoning((f"**{number}** {'x' * 2000}",)) for number in range(stage.unread_thoughts)] if unread else []
    # In a file, because Claude Code refuses a command that begins with a long sleep.
    (stage.workspace / "start").write_text(command(stage.oracle.word))
    first: Answer = answer(*thoughts, Shell("sh start"))
    return script(first, answer("{}", gate="go on"))
