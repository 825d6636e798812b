"""Provide the containment levels of this machine, and an oracle for leftovers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from codex_adapter.errors import SpawnError
from codex_adapter.runtime.containment.containment import LEVELS, Containment, Level
from codex_adapter.runtime.containment.marks import new_mark

from ..needs import missing
from .survivors import Survivors


@cache
def _available(level: Level) -> bool:
    async def start() -> bool:
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            try:
                contained = await Containment(allowed=(level,)).start(
                    ["/bin/true"], env={}, cwd="/", pipes=[nothing] * 3, mark=new_mark()
                )
            except SpawnError:
                return False
            await contained.wait()
            await contained.aclose()
            return True
        finally:
            os.close(nothing)

    return trio.run(start)


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> Level:
    """Each level that this machine has."""
    wanted: Level = request.param
    if not _available(wanted):
        missing("cgroup" if wanted == "cgroup" else "namespaces")
    return wanted


@pytest.fixture(params=LEVELS[:-1])
def guard_level(request: pytest.FixtureRequest) -> Level:
    """Each level with a guard that this machine has."""
    wanted: Level = request.param
    if not _available(wanted):
        missing("cgroup" if wanted == "cgroup" else "namespaces")
    return wanted


@pytest.fixture
def levels() -> list[Level]:
    """The levels that this machine has, best first."""
    return [level for level in LEVELS if _available(level)]


@pytest.fixture
def clock() -> MockClock:
    """The clock of the test, which runs as any other and which the test can move forward."""
    return MockClock(rate=1.0)


@pytest.fixture
def survivors(tmp_path: Path) -> Iterator[Survivors]:
    """What is left of runs in `tmp_path`; nothing any more after the test."""
    found = Survivors(tmp_path)
    yield found
    found.kill()


@pytest.fixture(scope="session")
def user_namespaces() -> None:
    """Skips where no user namespace can be had, in which a test takes abilities away from a process of its own."""
    if subprocess.run(["unshare", "-Urm", "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        missing("namespaces")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary directory, for this process and those that it starts."""
    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    monkeypatch.setenv("TMPDIR", str(directory))
    return directory
