"""Provide the command line in a temporary directory, and check that no fault leaves anything behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..cli.command import Cli
from ..runtime.conftest import level
from ..runtime.survivors import Survivors, temporary_files
from .leftovers import cgroups, descriptors

__all__ = ["cli", "level", "nothing_left", "public_cli", "survivors"]


@pytest.fixture
def survivors(tmp_path: Path) -> Iterator[Survivors]:
    """The processes of runs in `tmp_path`; nothing any more after the test."""
    found = Survivors(tmp_path)
    yield found
    found.kill()


@pytest.fixture
def cli(tmp_path: Path, survivors: Survivors) -> Iterator[Cli]:
    """The command line as a process; after the test, its runs must have left no process and no temporary file."""
    yield from _leaving_nothing(Cli(tmp_path), survivors)


@pytest.fixture
def public_cli(survivors: Survivors) -> Iterator[Cli]:
    """As `cli`, in a directory that every user may enter and write to."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o777)
        yield from _leaving_nothing(Cli(Path(directory)), survivors)


def _leaving_nothing(command: Cli, survivors: Survivors) -> Iterator[Cli]:
    temporary = command.directory / "temporary"
    temporary.mkdir()
    temporary.chmod(0o777)
    command.env |= {"TMPDIR": str(temporary), **survivors.env}
    yield command
    assert survivors.soon() == []
    assert temporary_files(temporary) == []


@pytest.fixture
def nothing_left(survivors: Survivors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs of this process leave no process, descriptor, temporary file or cgroup."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    opened, grouped = descriptors(), cgroups()
    yield
    assert survivors.now() == []
    assert list(temporary.iterdir()) == []
    assert descriptors() == opened
    assert cgroups() - grouped == set()
