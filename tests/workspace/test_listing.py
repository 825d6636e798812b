"""Test the listing of a workspace: its entries, omissions and limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.workspace import Entry, Listing, Workspace, WorkspaceError

from ..needs import without
from .outside import outside_tree


def listed(root: Path, limit: int = 1000) -> Listing:
    with Workspace(root, agents=known_places()) as workspace:
        return workspace.entries(limit=limit)


@pytest.mark.rule("H7")
def test_files_are_in_the_order_of_their_whole_paths(tmp_path: Path) -> None:
    for path in ("a/b", "a/a/z", "a-b", "a.c", "a0", "é", "😀", "z"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(path.encode())
    seen = listed(tmp_path)
    assert [entry.path for entry in seen.files] == ["a-b", "a.c", "a/a/z", "a/b", "a0", "z", "é", "😀"]
    assert seen.files[0] == Entry("a-b", 3)
    assert (seen.skipped, seen.complete) == (0, True)


@pytest.mark.rule("H3", "H7")
def test_what_cannot_be_read_is_passed_over_and_counted_but_links_are_nothing(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", outside_tree(tmp_path / "outside")
    (root / "d").mkdir(parents=True)
    (root / "d/file").write_bytes(b"x")
    (root / "link").symlink_to(outside)
    (root / "fine").symlink_to("d/file")
    (root / "hard").hardlink_to(outside / "secret.txt")
    os.mkfifo(root / "fifo")
    (root / os.fsdecode(b"\xff")).touch()
    assert listed(root) == Listing((Entry("d/file", 1),), skipped=3, complete=True)


@pytest.mark.rule("H7")
@pytest.mark.parametrize(
    ("limit", "paths"), [(0, []), (1, ["a"]), (2, ["a"]), (3, ["a", "d/b"]), (4, ["a", "d/b", "e"])]
)
def test_the_limit_counts_all_names_and_the_listing_says_that_it_is_cut(
    tmp_path: Path, limit: int, paths: list[str]
) -> None:
    (tmp_path / "d").mkdir()
    for path in ("a", "d/b", "e"):
        (tmp_path / path).touch()
    seen = listed(tmp_path, limit)
    assert ([entry.path for entry in seen.files], seen.complete) == (paths, limit == 4)


@pytest.mark.rule("H2", "H7")
@pytest.mark.fault(
    "workspace",
    "A tree is hundreds of directories deep",
    "Listing and writing work to a depth of 128 and leak no descriptor",
)
def test_a_tree_without_bottom_is_listed_as_far_as_paths_go(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("x", dir_fd=here)
        below = os.open("x", os.O_RDONLY, dir_fd=here)
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
        os.close(here)
        here = below
    os.close(here)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    seen = listed(tmp_path, 100_000)
    assert (len(seen.files), seen.skipped) == (129, 1)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    with Workspace(tmp_path, agents=known_places()) as workspace:
        assert workspace.read(seen.files[-1].path, limit=0) == b""


@pytest.mark.rule("H7")
@without("root", os.geteuid() != 0)
def test_a_directory_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents):
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    (tmp_path / "root/closed").mkdir(parents=True)
    (tmp_path / "root/closed").chmod(0o700)
    os.seteuid(65534)
    try:
        seen = listed(tmp_path / "root")
    finally:
        os.seteuid(0)
    assert seen == Listing((), skipped=1, complete=True)


@pytest.mark.rule("H6", "H7")
def test_a_root_that_is_closed_is_an_error(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, agents=known_places())
    workspace.close()
    with pytest.raises(WorkspaceError) as caught:
        workspace.entries(limit=1)
    assert caught.value.system
