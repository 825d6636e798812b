"""Test the promises that all containment levels share, lost guards, and the oracle itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import trio
from typing_extensions import override

from codex_adapter import BackendError, CodexConfig, RunCancelled, RunRequest, SpawnError
from codex_adapter.agents.codex.backend import CodexBackend
from codex_adapter.core.request_checks import CONTAINMENT_LEVELS
from codex_adapter.runtime.containment.cgroup import make_cgroup
from codex_adapter.runtime.containment.containment import LEVELS, Contained, Containment, Level
from codex_adapter.runtime.containment.marks import new_mark
from codex_adapter.runtime.containment.process_group import ProcessGroup
from codex_adapter.runtime.run import Run
from codex_adapter.testing import Hang, WriteFacts, read_facts

from ..needs import missing
from .agents import DESCENDANTS, WHOLE_TURN, backend, config, kinds_of, start_all_kinds
from .survivors import Survivors


@pytest.mark.rule("N1")
async def test_the_level_of_a_run_is_told_and_is_the_best_there_is(
    tmp_path: Path, levels: list[Level], caplog: pytest.LogCaptureFixture
) -> None:
    containment = Containment()
    assert containment.level is None
    runs = CodexBackend(config(tmp_path, *WHOLE_TURN), containment=containment)
    with caplog.at_level("INFO", logger="codex_adapter"):
        for _ in range(2):
            async with runs.open_run(RunRequest(prompt="x")) as run:
                assert run.containment == containment.level == levels[0]
    assert caplog.messages == [f"runs are contained at the level {levels[0]}"]


@pytest.mark.rule("N3")
async def test_the_configuration_demands_a_level_by_its_name(tmp_path: Path, level: Level, levels: list[Level]) -> None:
    assert CONTAINMENT_LEVELS == LEVELS
    runs = CodexBackend(config(tmp_path, *WHOLE_TURN, containment=level))
    async with runs.open_run(RunRequest(prompt="x")):
        assert runs._containment is not None
        assert runs._containment.level == levels[0]


@pytest.mark.rule("N3")
async def test_no_level_stronger_than_the_strongest_to_try_is_taken(tmp_path: Path, level: Level) -> None:
    runs = CodexBackend(config(tmp_path, *WHOLE_TURN, containment_max=level))
    assert await runs.containment_level() == level
    async with runs.open_run(RunRequest(prompt="x")) as run:
        assert run.containment == level


@pytest.mark.rule("S6", "N2")
@pytest.mark.parametrize(
    ("content", "not_found"),
    [(b"#!/no/such/interpreter\n", True), (b"#!/etc/passwd\n", False), (b"\x7fELFnonsense", False)],
    ids=["ENOENT", "EACCES", "ENOEXEC"],
)
@pytest.mark.fault(
    "spawning",
    "The kernel refuses the binary at exec because of its interpreter, permission or format",
    "The adapter raises SpawnError with the real reason and leaves no process",
)
async def test_an_agent_that_cannot_be_executed_is_a_spawn_error(
    tmp_path: Path, level: Level, content: bytes, not_found: bool, survivors: Survivors
) -> None:
    binary = tmp_path / "codex"
    binary.write_bytes(content)
    binary.chmod(0o755)
    before = len(list(Path("/proc/self/fd").iterdir()))
    runs = backend(level, CodexConfig(binary=str(binary), default_working_dir=str(tmp_path)))
    with pytest.raises(SpawnError) as caught:
        async with runs.open_run(RunRequest(prompt="x")):
            pass
    assert caught.value.not_found is not_found
    assert survivors.now() == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.rule("S3", "N2")
@pytest.mark.fault("spawning", "The adapter has an inheritable descriptor open", "The agent does not inherit it")
async def test_the_agent_has_three_descriptors_and_takes_every_signal(tmp_path: Path, level: Level) -> None:
    leak = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leak, True)
    script = "grep -E 'Sig(Blk|Ign)' /proc/self/status >ignored; ls /proc/$$/fd >descriptors"
    binary = tmp_path / "codex"
    binary.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit\n{script}\n')
    binary.chmod(0o755)
    try:
        settings = CodexConfig(binary=str(binary), default_working_dir=str(tmp_path))
        async with backend(level, settings).open_run(RunRequest(prompt="x")) as run:
            await run.events.aclose()
            await run.wait_completed()
    finally:
        os.close(leak)
    masks = [int(line.split()[1], 16) for line in (tmp_path / "ignored").read_text().splitlines()]
    assert masks == [0, 0]
    # 10 and above is the shell's own copy of its script.
    assert [number for number in (tmp_path / "descriptors").read_text().split() if int(number) < 10] == ["0", "1", "2"]


@pytest.mark.rule("N2")
@pytest.mark.fault("signals", "The process that uses the library ignores SIGINT", "The agent still receives SIGINT")
async def test_the_agent_takes_signals_that_the_adapter_ignores(tmp_path: Path, guard_level: Level) -> None:
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        settings = config(tmp_path, WriteFacts("facts.json"), *WHOLE_TURN[:2], Hang())
        async with backend(guard_level, settings).open_run(RunRequest(prompt="x")) as run:
            await run.events.receive()
            run.cancel()
            with pytest.raises(RunCancelled):
                await run.wait_completed()
            assert isinstance(run, Run)
            assert run._status is not None
            assert run._status.signal == "SIGINT"
    finally:
        signal.signal(signal.SIGINT, previous)
    facts = read_facts(tmp_path / "facts.json")
    assert facts.session == facts.pid != 1


@pytest.mark.rule("N2")
@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.fault(
    "signals",
    "A signal kills the guard during a run",
    "The adapter raises BackendError `wait`, and no marked process survives",
)
async def test_a_guard_that_is_killed_fails_the_run_and_leaves_nothing_marked(
    tmp_path: Path, guard_level: Level, depth: int, survivors: Survivors
) -> None:
    steps = [*start_all_kinds()[:4], *WHOLE_TURN[:2], Hang()]
    with trio.fail_after(60):
        runs = backend(guard_level, config(tmp_path, *steps))
        async with runs.open_run(RunRequest(prompt="x", env=survivors.env)) as run:
            await run.events.receive()
            os.kill(guards(survivors)[-1 if depth else 0], signal.SIGKILL)
            await run.events.aclose()
            with pytest.raises(BackendError) as caught:
                await run.wait_completed()
    assert caught.value.failure == "wait"
    assert survivors.now() == []


@pytest.mark.rule("N2", "K4")
@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.fault(
    "signals",
    "A process stops the guard and a caller cancels the run",
    "The run ends within a time limit and no process survives",
)
async def test_a_guard_that_is_stopped_holds_up_a_cancel_for_a_bounded_time(
    tmp_path: Path, guard_level: Level, depth: int, survivors: Survivors
) -> None:
    steps = [*start_all_kinds()[:4], *WHOLE_TURN[:2], Hang()]
    runs = backend(guard_level, config(tmp_path, *steps, stop_timeout=0.6))
    with trio.fail_after(60):
        async with runs.open_run(RunRequest(prompt="x", env=survivors.env)) as run:
            await run.events.receive()
            os.kill(guards(survivors)[-1 if depth else 0], signal.SIGSTOP)
            run.cancel()
            with pytest.raises(RunCancelled):
                await run.wait_completed()
    assert survivors.now() == []


def guards(survivors: Survivors) -> list[int]:
    """The guards of the one run, the one that is our child first."""
    [child] = survivors.children()
    found = [child.pid]
    while inner := [process.pid for process in survivors.children(found[-1]) if "guard.py" in process.argv]:
        found += inner
    return found


@pytest.mark.rule("N1", "K5")
@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.nightly)])
async def test_many_runs_at_once_each_have_their_own_status_and_leave_nothing(
    tmp_path: Path, survivors: Survivors, count: int
) -> None:
    binary = tmp_path / "codex"
    binary.write_text('#!/bin/sh\n[ "$1" = --version ] && exit\n(setsid sleep 60 >/dev/null 2>&1 &)\nexit "$STATUS"\n')
    binary.chmod(0o755)
    runs = CodexBackend(CodexConfig(binary=str(binary), default_working_dir=str(tmp_path)))
    told: dict[int, int | None] = {}

    async def one(status: int) -> None:
        request = RunRequest(prompt="x", env={**survivors.env, "STATUS": str(status)})
        async with runs.open_run(request) as run:
            await run.events.aclose()
            told[status] = (await run.wait_completed()).status.code

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            for status in range(count):
                nursery.start_soon(one, status)
    assert told == {status: status for status in range(count)}
    assert survivors.now() == []


class Unheld(ProcessGroup):
    """An agent that is ended, and nothing else with it."""

    @override
    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    @override
    def _kill(self) -> bool:
        self.signal(signal.SIGKILL)
        return False


class NoContainment(Containment):
    """Starts agents that nothing holds."""

    @override
    async def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        pipes: Sequence[int],
        mark: str,
        file: str | None = None,
    ) -> Contained:
        stdin, stdout, stderr = pipes
        process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr)  # noqa: ASYNC220
        return Unheld(process, "none")


@pytest.mark.rule("N1")
async def test_the_oracle_finds_what_an_agent_leaves_that_nothing_holds(tmp_path: Path, survivors: Survivors) -> None:
    settings = config(tmp_path, *start_all_kinds(), *WHOLE_TURN)
    async with CodexBackend(settings, containment=NoContainment()).open_run(
        RunRequest(prompt="x", env=survivors.env)
    ) as run:
        await run.events.aclose()
        await run.wait_completed()
    left = survivors.now()
    assert len(left) == len(DESCENDANTS)
    assert kinds_of(tmp_path, {process.inner for process in left}) == DESCENDANTS.keys()


@pytest.mark.rule("N1")
def test_empty_cgroups_of_adapters_that_are_gone_are_swept(tmp_path: Path) -> None:
    made = make_cgroup(new_mark())
    if made is None:
        missing("cgroup")
    gone = subprocess.Popen(["true"])
    gone.wait()
    gone_mark = re.sub(r"^\d+-\d+", f"{gone.pid}-1", new_mark())
    left = Path(made.path).with_name(f"codex-adapter-{gone_mark}")
    left.mkdir()
    another = make_cgroup(new_mark())
    assert another is not None
    assert not left.exists()
    assert Path(made.path).exists()
    for cgroup in (made, another):
        Path(cgroup.path).rmdir()
