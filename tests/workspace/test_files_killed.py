"""Test a writer that is killed: the file is complete, and temporary files can be removed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace

from .outside import LIMIT

SIZE = 40_000
WRITER = """
import sys
from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace

def pieces(letter):
    for _ in range(4):
        print(letter, flush=True)
        yield letter * 10_000

with Workspace(sys.argv[1], agents=known_places()) as workspace:
    while True:
        for letter in (b"n", b"o"):
            if sys.argv[2] == "write":
                workspace.write("d/file", pieces(letter), overwrite=True, limit=1 << 20)
            else:
                workspace.replace("d/file", lambda content: b"".join(pieces(letter)), limit=1 << 20)
"""


def killed_after(lines: int, root: Path, how: str) -> None:
    """Kills the writer when it has told of so many pieces; it goes on until that reaches it."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(root), how], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(lines):
            assert writer.stdout.readline()
        writer.kill()


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


@pytest.mark.rule("H4")
@pytest.mark.fault(
    "workspace",
    "SIGKILL ends a writer during a write",
    "The file has its complete old or new content; the temporary file is removed later",
)
@pytest.mark.parametrize("how", ["write", "replace"])
@pytest.mark.parametrize(
    "lines", [1, 2, 3, 4, 5, 8, 9, *(pytest.param(each, marks=pytest.mark.nightly) for each in range(10, 200))]
)
def test_a_killed_writer_leaves_the_old_or_the_new_content(how: str, lines: int, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file").write_bytes(b"o" * SIZE)
    killed_after(lines, tmp_path, how)
    with Workspace(tmp_path, agents=known_places()) as workspace:
        assert workspace.read("d/file", limit=LIMIT) in (b"n" * SIZE, b"o" * SIZE)
        assert [entry.path for entry in workspace.entries(limit=9).files] == ["d/file"]
        workspace.sweep("d/file")
    assert files(tmp_path) == [tmp_path / "d/file"]


@pytest.mark.rule("H4")
@pytest.mark.fault(
    "workspace", "SIGKILL ends the writer of a new file", "The file does not exist; the temporary file is removed later"
)
def test_a_killed_writer_of_a_new_file_leaves_none(tmp_path: Path) -> None:
    killed_after(2, tmp_path, "write")
    left = files(tmp_path)
    with Workspace(tmp_path, agents=known_places()) as workspace:
        digest: Callable[[], bytes | None] = lambda: workspace.digest("d/file", limit=LIMIT)  # noqa: E731
        whole = digest()
        workspace.sweep("d/file")
        assert digest() == whole
    assert files(tmp_path) == ([tmp_path / "d/file"] if whole else [])
    assert left


@pytest.mark.rule("H4")
def test_a_sweep_where_there_is_no_directory_does_nothing(tmp_path: Path) -> None:
    with Workspace(tmp_path, agents=known_places()) as workspace:
        workspace.sweep("a/b/c")
    assert list(tmp_path.iterdir()) == []
