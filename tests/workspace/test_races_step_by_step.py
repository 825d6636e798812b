"""Test a swap of files before each system call of each operation."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace

from .outside import OPERATIONS, outcome, outside_tree, snapshot
from .swapper import KINDS, PATHS, exchange, prepare

BEGINNINGS = (b"inside", b"from the agent")
CHANGING = {"create", "overwrite", "replace", "delete"}
ALLOWED: dict[str, set[str]] = {
    "outside": {"directory", "link", "file"},
    "not_a_file": {"fifo"},
    "hard_linked": {"hard-link"},
    "too_many_links": {"file"},
    "not_a_directory": {"directory", "link", "file", "fifo", "hard-link"},
    "is_directory": set(),
    "not_found": {"directory", "link", "depth"},
    "exists": set(KINDS),
    "denied": set(),
}
"""In which races an operation may end with which error."""


@pytest.mark.rule("H1", "H3")
@pytest.mark.fault(
    "workspace",
    "A file and a link to outside change places before any single system call",
    "The operation never leaves the root and never waits",
)
@pytest.mark.parametrize(
    "back", [pytest.param(False, id="once"), pytest.param(True, id="to-and-fro", marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_moment_is_the_wrong_one(kind: str, operation: str, back: bool, tmp_path: Path) -> None:
    outside = outside_tree(tmp_path / "outside")
    root = tmp_path / "root"
    root.mkdir()
    before = snapshot(outside)
    path = PATHS.get(kind, "d/other.txt")
    where = path.rpartition("/")[0] if operation == "directory" else path
    prepare(kind, root)
    step, more = 0, True
    while more:
        with (
            Workspace(root, agents=known_places()) as workspace,
            swapped(kind, root, {step, step + 1} if back else {step}) as calls,
        ):
            given = outcome(workspace, operation, where)
            more = step < len(calls)
        assert not isinstance(given, bytes) or operation == "digest" or given.startswith(BEGINNINGS)
        assert not isinstance(given, str) or kind in ALLOWED[given]
        assert snapshot(outside) == before
        if operation in CHANGING:
            prepare(kind, root)
        elif sum(calls) % 2:
            exchange(kind, root)
        step += 1
    assert step > 3


@contextmanager
def swapped(kind: str, root: Path, steps: set[int]) -> Iterator[list[bool]]:
    """In the body, the two change places before the calls of these numbers; gives for each call whether they did."""
    calls: list[bool] = []

    def before_call(_: FrameType, event: str, called: Callable[..., object]) -> None:
        if event == "c_call" and called.__module__ == os.open.__module__:
            calls.append(len(calls) in steps and exchange(kind, root))

    sys.setprofile(before_call)
    try:
        yield calls
    finally:
        sys.setprofile(None)
