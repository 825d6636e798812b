"""Test a tree that a hostile process changes: nothing outside is reached, and no call hangs."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace, WorkspaceError

from .outside import LIMIT, OPERATIONS, outcome, outside_tree, snapshot
from .swapper import PATHS

REPOSITORY = Path(__file__).parents[2]
BEGINNINGS = (b"inside", b"from the agent")
"""How each content that a file of theirs or ours ever has begins."""
TAKING = ["create", "overwrite", "delete"]
"""What takes away the very thing that is to be met: done apart from the rest."""
LEAVING = sorted(OPERATIONS.keys() - set(TAKING))
SYSTEM_CODES = {"no_space", "read_only", "exhausted", "gone", "io"}


@pytest.mark.rule("H1", "H3")
@pytest.mark.parametrize(
    ("kind", "least"),
    [
        pytest.param(
            "directory",
            100,
            marks=pytest.mark.fault(
                "workspace",
                "A directory and a link to outside change places repeatedly",
                "The operation never leaves the root and never waits",
            ),
        ),
        pytest.param(
            "link",
            100,
            marks=pytest.mark.fault(
                "workspace",
                "A link to inside and a link to outside change places repeatedly",
                "The operation never leaves the root and never waits",
            ),
        ),
        pytest.param(
            "file",
            100,
            marks=pytest.mark.fault(
                "workspace",
                "A file and a link to outside change places repeatedly",
                "The operation never leaves the root and never waits",
            ),
        ),
        pytest.param(
            "fifo",
            100,
            marks=pytest.mark.fault(
                "workspace", "A file and a FIFO change places repeatedly", "The operation never waits"
            ),
        ),
        pytest.param(
            "hard-link",
            100,
            marks=pytest.mark.fault(
                "workspace",
                "A file and a hard link to outside change places repeatedly",
                "The file outside is neither read nor changed",
            ),
        ),
        pytest.param(
            "depth",
            100,
            marks=pytest.mark.fault(
                "workspace",
                "A directory moves between two depths while the adapter follows links with `..` in it",
                "The operation never leaves the root and never waits",
            ),
        ),
        pytest.param(
            "temporary",
            0,
            marks=pytest.mark.fault(
                "workspace",
                "Links to outside replace temporary files",
                "The link is renamed into place and never followed",
            ),
        ),
    ],
)
@pytest.mark.parametrize("rounds", [200, pytest.param(5_000, marks=pytest.mark.nightly)])
def test_swapping_things_in_mid_operation_leads_nowhere(kind: str, least: int, rounds: int, tmp_path: Path) -> None:
    outside = outside_tree(tmp_path / "outside")
    (tmp_path / "root").mkdir()
    before = snapshot(outside)
    path = PATHS.get(kind, "d/other.txt")
    seen: Counter[object] = Counter()
    with (
        swapping(kind, tmp_path / "root", least),
        Workspace(tmp_path / "root", agents=known_places()) as workspace,
    ):
        for operation in (*LEAVING * rounds, *TAKING * rounds):
            where = path.rpartition("/")[0] if operation == "directory" else path
            given = outcome(workspace, operation, where)
            assert not isinstance(given, bytes) or operation == "digest" or given.startswith(BEGINNINGS)
            seen[given if isinstance(given, str) else "done"] += 1
    assert snapshot(outside) == before
    assert seen["done"] > rounds
    assert not seen.keys() & SYSTEM_CODES


@contextmanager
def swapping(kind: str, root: Path, least: int) -> Iterator[None]:
    """The hostile process runs in the body, and swapped at least so often."""
    program = [sys.executable, "-m", "tests.workspace.swapper", kind, str(root)]
    with subprocess.Popen(program, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield
            swaps = int(process.communicate(timeout=60)[0])
        except BaseException:
            process.kill()
            raise
    assert process.returncode == 0
    assert swaps >= least


@pytest.mark.rule("H4")
@pytest.mark.fault(
    "workspace", "Several writers create the same new file", "One succeeds; the others report that it exists"
)
def test_of_several_makers_of_a_file_one_succeeds(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda number: make_all(tmp_path, number), range(4)))
    assert sorted(path for paths in made for path in paths) == sorted(f"d{n}/file" for n in range(60))
    for number, paths in enumerate(made):
        assert {(tmp_path / path).read_bytes() for path in paths} <= {b"%d" % number}
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 60


def make_all(root: Path, number: int) -> list[str]:
    with Workspace(root, agents=known_places()) as workspace:
        made = []
        for path in [f"d{n}/file" for n in range(60)]:
            try:
                workspace.write(path, [b"%d" % number], overwrite=False, limit=9)
            except WorkspaceError as error:
                if error.code != "exists":
                    raise
            else:
                made.append(path)
        return made


@pytest.mark.rule("H4")
@pytest.mark.fault("workspace", "A process reads a file while others write it", "Each reader gets one complete content")
def test_readers_see_whole_contents_while_others_write(tmp_path: Path) -> None:
    def write_all(letter: bytes) -> None:
        with Workspace(tmp_path, agents=known_places()) as workspace:
            for _ in range(60):
                workspace.write("file", [letter * 10_000] * 3, overwrite=True, limit=LIMIT)

    write_all(b"0")
    with ThreadPoolExecutor(2) as pool, Workspace(tmp_path, agents=known_places()) as workspace:
        writing = [pool.submit(write_all, letter) for letter in (b"1", b"2")]
        while not all(future.done() for future in writing):
            content = workspace.read("file", limit=LIMIT)
            assert len(content) == 30_000
            assert len(set(content)) == 1
        for future in writing:
            future.result()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
