"""Provide commands in a workspace at each level of this machine, and check for leftovers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.runtime.containment.containment import Containment, Level
from codex_adapter.workspace import Workspace
from codex_adapter.workspace.sandbox import Sandbox, find_sandbox

from ..faults.leftovers import descriptors
from ..needs import missing
from ..runtime.conftest import level
from ..runtime.survivors import Survivors
from .shells import Shell

__all__ = ["bare", "held", "level", "root", "sandbox", "sandboxed", "shell", "survivors", "workspace"]


@cache
def _sandbox() -> Sandbox | None:
    return find_sandbox(agents=known_places())


@pytest.fixture
def sandbox() -> Sandbox:
    """A sandbox that works."""
    found = _sandbox()
    if found is None:
        missing("bubblewrap")
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace's directory, without links in its path."""
    directory = tmp_path.resolve() / "root"
    directory.mkdir()
    return directory


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    """The workspace in `root`."""
    with Workspace(root, agents=known_places()) as opened:
        yield opened


@pytest.fixture
def survivors(root: Path) -> Iterator[Survivors]:
    """What is left of commands in `root`; nothing any more after the test."""
    found = Survivors(root)
    yield found
    found.kill()


@pytest.fixture
def bare(workspace: Workspace, survivors: Survivors) -> Iterator[Shell]:
    """Commands without a sandbox; nothing of them is left after the test."""
    yield from _leaving_nothing(Shell(workspace, survivors, None, Containment()), survivors)


@pytest.fixture
def sandboxed(workspace: Workspace, survivors: Survivors, sandbox: Sandbox) -> Iterator[Shell]:
    """Commands in a sandbox; nothing of them is left after the test."""
    yield from _leaving_nothing(Shell(workspace, survivors, sandbox, Containment()), survivors)


@pytest.fixture(params=["bare", "sandboxed"])
def shell(request: pytest.FixtureRequest) -> Shell:
    """Commands with and without a sandbox; nothing of them is left after the test."""
    wanted: Shell = request.getfixturevalue(request.param)
    return wanted


@pytest.fixture
def held(workspace: Workspace, survivors: Survivors, level: Level) -> Iterator[Shell]:
    """Commands without a sandbox, held at each level; nothing of them is left after the test."""
    yield from _leaving_nothing(Shell(workspace, survivors, None, Containment(allowed=(level,))), survivors)


def _leaving_nothing(shell: Shell, survivors: Survivors) -> Iterator[Shell]:
    before = descriptors().keys()
    yield shell
    assert survivors.soon() == []
    assert descriptors().keys() == before
