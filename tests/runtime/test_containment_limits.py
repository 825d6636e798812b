"""Test what each level cannot contain, with adapters and guards that are really killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from codex_adapter.runtime.containment.containment import LEVELS, Level
from codex_adapter.testing import Hang, Step, WaitFor, WriteFacts, read_facts, write_agent

from ..needs import has_no_such_case, missing
from ..waiting import state, until
from .agents import DESCENDANTS, WHOLE_TURN, kinds_of, start_all_kinds
from .survivors import Survivors

PROGRAM: Final = Path(__file__).with_name("adapter_program.py")
NO_NAMESPACES: Final = "echo 0 >/proc/sys/user/max_pid_namespaces"
NO_CGROUPS: Final = "mount -t tmpfs none /sys/fs/cgroup"
ALL: Final = set(DESCENDANTS)
CLEARED: Final = {"cleared environment", "cleared environment, own session"}


class Adapter(NamedTuple):
    """An adapter that has been started; `level` is what it said, None when it refused."""

    process: subprocess.Popen[str]
    level: str | None
    said: str

    def end(self) -> str:
        """What it says of its run once that has ended."""
        # Not by `communicate`, which does not see what the read of the first line has buffered.
        assert self.process.stdout is not None
        return self.process.stdout.read().strip()


@contextmanager
def adapter(
    steps: Sequence[Step],
    survivors: Survivors,
    tmp_path: Path,
    *,
    allowed: Sequence[Level] = LEVELS,
    demanded: str = "",
    without: str = "",
    schema: bool = False,
) -> Iterator[Adapter]:
    """An adapter whose agent has said something, where `without`, a shell command, has taken abilities away."""
    binary = write_agent(tmp_path / "bin", steps)
    argv = [sys.executable, str(PROGRAM), binary, str(tmp_path), ",".join(allowed), demanded, *["schema"] * schema]
    if without:
        argv = ["unshare", "-Urm", "sh", "-c", f'{without} && exec "$@"', "sh", *argv]
    with subprocess.Popen(argv, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(survivors.env))
            process.stdin.close()
            process.stdin = None
            said = process.stdout.readline().strip()
            yield Adapter(process, said.removeprefix("started ") if said.startswith("started ") else None, said)
        finally:
            process.kill()


def guard_of(process: subprocess.Popen[str], survivors: Survivors) -> int:
    [child] = survivors.children(process.pid)
    return child.pid


def adapter_killed(process: subprocess.Popen[str], _survivors: Survivors) -> None:
    process.kill()


def guard_killed(process: subprocess.Popen[str], survivors: Survivors) -> None:
    os.kill(guard_of(process, survivors), signal.SIGKILL)
    process.wait(60)


def both_killed(process: subprocess.Popen[str], survivors: Survivors) -> None:
    process.send_signal(signal.SIGSTOP)
    os.kill(guard_of(process, survivors), signal.SIGKILL)
    process.kill()


def guard_stopped_and_adapter_killed(process: subprocess.Popen[str], survivors: Survivors) -> None:
    os.kill(guard_of(process, survivors), signal.SIGSTOP)
    process.kill()


Event = Callable[[subprocess.Popen[str], Survivors], None]
NOT_HELD: dict[Event, dict[str, set[str]]] = {
    adapter_killed: {"process_group": ALL},
    guard_killed: {"guard": CLEARED},
    both_killed: {"guard": ALL, "cgroup alone": ALL},
    guard_stopped_and_adapter_killed: {"guard": ALL, "cgroup alone": ALL},
}
"""By what happens and to which level: the kinds of descendants that are left. Everything else is held."""


@pytest.mark.rule("N1", "N2", "E4")
@pytest.mark.parametrize("event", NOT_HELD, ids=lambda event: event.__name__)
def test_each_level_holds_all_but_what_the_table_says(
    tmp_path: Path, level: Level, event: Event, survivors: Survivors, levels: list[Level]
) -> None:
    if level == "process_group" and event is not adapter_killed:
        has_no_such_case("there is no guard at this level")
    column = "cgroup alone" if level == "cgroup" and "pid_namespace" not in levels else level
    with adapter([*start_all_kinds(), *WHOLE_TURN[:2], Hang()], survivors, tmp_path, allowed=[level]) as started:
        assert started.level == level
        event(started.process, survivors)
        check(tmp_path, survivors, NOT_HELD[event].get(column, set()))


@pytest.mark.rule("N1")
@pytest.mark.usefixtures("user_namespaces")
@pytest.mark.parametrize("event", NOT_HELD, ids=lambda event: event.__name__)
def test_a_cgroup_without_a_namespace_holds_all_but_what_the_table_says(
    tmp_path: Path, levels: list[Level], event: Event, survivors: Survivors
) -> None:
    if "cgroup" not in levels:
        missing("cgroup")
    steps = [*start_all_kinds(), *WHOLE_TURN[:2], Hang()]
    with adapter(steps, survivors, tmp_path, allowed=["cgroup"], without=NO_NAMESPACES) as started:
        assert started.level == "cgroup"
        event(started.process, survivors)
        check(tmp_path, survivors, NOT_HELD[event].get("cgroup alone", set()))


@pytest.mark.rule("N1", "N2")
@pytest.mark.parametrize("alone", [False, True], ids=["", "cgroup without namespaces"])
@pytest.mark.fault(
    "signals",
    "The adapter is stopped, its agent exits, and a signal kills the adapter",
    "The guard ends the run and no process survives",
)
def test_an_adapter_that_is_killed_before_it_reads_of_the_exit_leaves_nothing(
    tmp_path: Path, guard_level: Level, alone: bool, survivors: Survivors, request: pytest.FixtureRequest
) -> None:
    if alone:
        request.getfixturevalue("user_namespaces")
        if guard_level != "cgroup":
            has_no_such_case("only this level has a guard of either kind")
    steps = [WriteFacts("facts.json"), *start_all_kinds(), *WHOLE_TURN[:2], WaitFor("go")]
    without = NO_NAMESPACES if alone else ""
    with adapter(steps, survivors, tmp_path, allowed=[guard_level], without=without) as started:
        assert started.level == guard_level
        inner = read_facts(tmp_path / "facts.json").pid
        [agent] = [process for process in survivors.now() if process.inner == inner]
        started.process.send_signal(signal.SIGSTOP)
        (tmp_path / "go").touch()
        # Until it has been reaped, and reported.
        until(lambda: not Path(f"/proc/{agent.pid}").exists() and state(agent.parent) == "S")
        started.process.kill()
        check(tmp_path, survivors, set())


def check(tmp_path: Path, survivors: Survivors, expected: set[str]) -> None:
    def is_so() -> bool:
        left = survivors.now()
        found = kinds_of(tmp_path, {process.inner for process in left})
        assert found >= expected, "a process is gone that this level does not contain"
        return found == expected and (bool(expected) or not left)

    # A killed process is alive until the kernel has removed it.
    until(is_so)


@pytest.mark.rule("N2")
@pytest.mark.fault(
    "signals",
    "The process that uses the library is stopped until its agent exits",
    "The adapter reports status and events when it continues",
)
def test_an_adapter_that_is_stopped_for_a_while_loses_nothing(
    tmp_path: Path, level: Level, survivors: Survivors
) -> None:
    steps = [*WHOLE_TURN[:2], WaitFor("go"), *WHOLE_TURN[2:]]
    with adapter(steps, survivors, tmp_path, allowed=[level]) as started:
        [agent] = [process for process in survivors.now() if not survivors.children(process.pid)]
        started.process.send_signal(signal.SIGSTOP)
        (tmp_path / "go").touch()
        until(lambda: agent not in survivors.now())
        started.process.send_signal(signal.SIGCONT)
        assert started.end() == "exit status: 0"
    assert survivors.now() == []


@pytest.mark.rule("N1")
@pytest.mark.usefixtures("user_namespaces")
@pytest.mark.parametrize(
    ("without", "expected"),
    [("true", "cgroup"), (NO_CGROUPS, "pid_namespace"), (f"{NO_CGROUPS} && {NO_NAMESPACES}", "guard")],
)
@pytest.mark.fault("spawning", "Cgroups or namespaces are unavailable", "The run uses the next best level")
def test_the_best_level_that_can_be_had_is_chosen(
    tmp_path: Path, levels: list[Level], without: str, expected: Level, survivors: Survivors
) -> None:
    if expected not in levels:
        missing("cgroup" if expected == "cgroup" else "namespaces")
    with adapter(WHOLE_TURN, survivors, tmp_path, without=without) as started:
        assert started.level == expected
        assert started.end() == "exit status: 0"
    assert survivors.now() == []


@pytest.mark.rule("N3")
@pytest.mark.usefixtures("user_namespaces")
@pytest.mark.parametrize(
    ("demanded", "level"),
    [("cgroup", None), ("pid_namespace", None), ("guard", "guard"), ("process_group", "guard"), ("", "guard")],
)
@pytest.mark.fault(
    "spawning",
    "The required containment level is unavailable",
    "The adapter raises SpawnError with advice and starts no agent",
)
def test_a_level_that_is_demanded_and_cannot_be_had_is_refused_with_advice(
    tmp_path: Path, demanded: str, level: str | None, survivors: Survivors
) -> None:
    without = f"{NO_CGROUPS} && {NO_NAMESPACES}"
    with adapter(WHOLE_TURN, survivors, tmp_path, demanded=demanded, without=without) as started:
        assert started.level == level
        if level is None:
            assert started.said.startswith("spawn This machine does not support the demanded containment level.")
            assert "codex-adapter doctor" in started.said
        else:
            assert started.end() == "exit status: 0"
    assert survivors.now() == []
