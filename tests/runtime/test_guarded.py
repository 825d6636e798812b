"""Test a guard alone: it contains a run of an unprivileged user, and handles inherited state."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import trio

from codex_adapter.runtime.containment.cgroup import Cgroup
from codex_adapter.runtime.containment.containment import Level
from codex_adapter.runtime.containment.guard_client import Guarded, LevelUnavailable, start_guarded

from ..faults.leftovers import descriptors
from ..needs import missing
from .survivors import Survivors

pytestmark = pytest.mark.rule("N2")


async def started(script: str, hold: str, tmp_path: Path, survivors: Survivors) -> Guarded:
    """A guard, held in this way, of a shell that carries out the script."""
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        return await start_guarded(
            ["/bin/sh", "-c", script],
            env={**os.environ, **survivors.env},
            cwd=str(tmp_path),
            pipes=[nothing.fileno()] * 3,
            mark="none",
            hold=hold,
            cgroup=None,
            file=None,
        )


@pytest.mark.rule("N1")
@pytest.mark.usefixtures("user_namespaces")
async def test_one_who_is_not_root_has_a_namespace_too(tmp_path: Path, survivors: Survivors) -> None:
    guarded = await started("(setsid sleep 60 &) ; exit 7", "user_namespace", tmp_path, survivors)
    assert (await guarded.wait()).code == 7
    assert survivors.now() != []
    await guarded.aclose()
    assert survivors.now() == []


@pytest.mark.fault("signals", "A guard starts with SIGCHLD ignored", "It still waits for its children")
@pytest.mark.parametrize("level", ["guard", "pid_namespace"])
async def test_a_guard_that_starts_with_sigchld_ignored_tells_that_nothing_is_left(
    tmp_path: Path, level: Level, levels: list[Level], survivors: Survivors
) -> None:
    if level not in levels:
        missing("cgroup" if level == "cgroup" else "namespaces")
    hold = "user_namespace" if level == "pid_namespace" and os.geteuid() else level
    previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        guarded = await started("exit 7", hold, tmp_path, survivors)
    finally:
        signal.signal(signal.SIGCHLD, previous)
    assert (await guarded.wait()).code == 7
    await guarded.aclose()
    assert guarded._process.returncode == 0


@pytest.mark.rule("V1")
@pytest.mark.parametrize("unwritten", [False, True])
async def test_a_guard_is_compiled_once_and_its_file_stands_where_this_process_keeps_its_own(
    tmp_path: Path, survivors: Survivors, monkeypatch: pytest.MonkeyPatch, unwritten: bool
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    monkeypatch.setattr(sys, "dont_write_bytecode", unwritten)
    guarded = await started("exit 7", "guard", tmp_path, survivors)
    assert (await guarded.wait()).code == 7
    await guarded.aclose()
    compiled = [path.name.split(".")[0] for path in tmp_path.rglob("*.pyc") if path.parent.name == "containment"]
    assert sorted(compiled) == ([] if unwritten else ["guard_processes", "guard_program"])


@pytest.mark.rule("N1")
async def test_a_start_that_is_cancelled_while_a_level_proves_unavailable_leaves_nothing(
    tmp_path: Path, survivors: Survivors
) -> None:
    before = descriptors()
    for milliseconds in range(0, 60, 2):
        with Path(os.devnull).open("r+b", buffering=0) as nothing, trio.move_on_after(milliseconds / 1000):
            with pytest.raises(LevelUnavailable):
                await start_guarded(
                    ["/bin/sh", "-c", "sleep 60"],
                    env=survivors.env,
                    cwd=str(tmp_path),
                    pipes=[nothing.fileno()] * 3,
                    mark="none",
                    hold="guard",
                    cgroup=Cgroup(str(tmp_path / "none")),
                    file=None,
                )
        assert survivors.now() == []
        assert descriptors() == before
