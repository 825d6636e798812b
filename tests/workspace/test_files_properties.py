"""Test random trees with many links: the workspace sees the same as the system."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace, WorkspaceError

from .outside import LIMIT, outside_tree, snapshot

T = TypeVar("T")
NAMES = ["a", "b", "c", "secret.txt"]
name = st.sampled_from(NAMES)
path = st.lists(name, min_size=1, max_size=4).map("/".join)
target = st.lists(st.sampled_from([*NAMES, "..", "..", ".", "", "outside", "root"]), min_size=1, max_size=6).map(
    "/".join
)


class Node(NamedTuple):
    """One thing in a random tree; what cannot be made where it is said to be is left out."""

    kind: Literal["file", "directory", "link"]
    path: str
    content: str


node = st.one_of(
    st.builds(Node, st.just("file"), path, st.text(max_size=3)),
    st.builds(Node, st.just("directory"), path, st.just("")),
    st.builds(Node, st.just("link"), path, target.filter(lambda text: text != "")),
)
tree = st.lists(node, max_size=12)


@contextmanager
def built(nodes: list[Node]) -> Iterator[tuple[Path, Path]]:
    """The root of a random tree, and what is outside."""
    with tempfile.TemporaryDirectory() as top:
        root, outside = Path(top) / "root", outside_tree(Path(top) / "outside")
        root.mkdir()
        for each in nodes:
            make(root / each.path, each, root)
        yield root, outside


def make(place: Path, each: Node, root: Path) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return
    parent = Path(os.path.realpath(place.parent))
    if not parent.is_relative_to(root) or os.path.lexists(place):
        return
    match each.kind:
        case "file":
            place.write_text(each.content)
        case "directory":
            place.mkdir()
        case "link":
            place.symlink_to(each.content)


def inside(root: Path, asked: str) -> Path | None:
    """The model: walks names one by one, by `lstat` alone; None for what leads out, loops or is no way at all."""
    here, ahead, links = root, asked.split("/")[::-1], 0
    while ahead:
        part = ahead.pop()
        if part in ("", "."):
            if not here.is_dir():
                return None
        elif part == "..":
            if here == root or not here.is_dir():
                return None
            here = here.parent
        elif (here / part).is_symlink():
            links += 1
            goal = str((here / part).readlink())
            if links > 40 or goal.startswith("/"):
                return None
            ahead += goal.split("/")[::-1]
        elif here.is_dir():
            here = here / part
        else:
            return None
    return here


@pytest.mark.rule("H1", "H3")
@given(tree, path)
def test_a_file_is_read_exactly_if_it_is_inside(nodes: list[Node], asked: str) -> None:
    with built(nodes) as (root, _), Workspace(root, agents=known_places()) as workspace:
        real = inside(root, asked)
        expected = real.read_bytes() if real is not None and real.is_file() else None
        if expected is not None:
            assert Path(os.path.realpath(root / asked)) == real
        seen = attempt(lambda: workspace.read(asked, limit=LIMIT))
        if isinstance(seen, WorkspaceError):
            assert expected is None, seen.code
            assert not seen.system
        else:
            assert seen == expected
            assert workspace.digest(asked, limit=LIMIT) == hashlib.sha256(seen).digest()


@pytest.mark.rule("H1", "H4")
@given(tree, path, st.lists(st.binary(max_size=9), max_size=4), st.booleans())
def test_a_write_changes_one_file_inside_or_nothing(
    nodes: list[Node], asked: str, pieces: list[bytes], overwrite: bool
) -> None:
    with built(nodes) as (root, outside), Workspace(root, agents=known_places()) as workspace:
        before, others = contents(root), snapshot(outside)
        real = inside(root, asked)
        size = attempt(lambda: workspace.write(asked, pieces, overwrite=overwrite, limit=LIMIT))
        after = contents(root)
        if isinstance(size, WorkspaceError):
            assert not size.system
            assert after == before
            assert real is None or os.path.lexists(real)
        else:
            assert size == len(b"".join(pieces))
            assert workspace.read(asked, limit=LIMIT) == b"".join(pieces)
            written = os.path.relpath(os.path.realpath(root / asked), root)
            assert before.keys() <= after.keys()
            assert {each for each in after if after[each] != before.get(each)} - directories(after) <= {written}
            assert overwrite or written not in before
        assert snapshot(outside) == others


@pytest.mark.rule("H1", "H3")
@given(tree, path)
def test_a_deletion_removes_the_name_alone(nodes: list[Node], asked: str) -> None:
    with built(nodes) as (root, outside), Workspace(root, agents=known_places()) as workspace:
        before, others = contents(root), snapshot(outside)
        parent, _, last = asked.rpartition("/")
        real = inside(root, parent)
        error = attempt(lambda: workspace.delete(asked))
        if isinstance(error, WorkspaceError):
            assert not error.system
            assert contents(root) == before
            assert real is None or (real / last).is_dir() or not os.path.lexists(real / last)
        else:
            assert real is not None
            assert before.keys() - contents(root).keys() == {os.path.relpath(real / last, root)}
        assert snapshot(outside) == others


@pytest.mark.rule("H7")
@given(tree, st.integers(0, 12))
def test_the_listing_is_the_regular_files_in_order_as_far_as_the_limit_goes(nodes: list[Node], limit: int) -> None:
    with built(nodes) as (root, _), Workspace(root, agents=known_places()) as workspace:
        expected = sorted(
            (each, len(content)) for each, (kind, content) in contents(root).items() if kind == stat.S_IFREG
        )
        names = sum(kind != stat.S_IFLNK for kind, _ in contents(root).values())
        seen = workspace.entries(limit=limit)
        assert [tuple(entry) for entry in seen.files] == expected[: len(seen.files)]
        assert seen.complete == (names <= limit)
        assert seen.skipped == 0
        if seen.complete:
            assert len(seen.files) == len(expected)


@pytest.mark.rule("H4")
@given(path, st.lists(st.booleans(), max_size=5))
def test_a_sweep_removes_the_temporary_files_of_its_path_and_nothing_else(asked: str, ours: list[bool]) -> None:
    with built([]) as (root, _), Workspace(root, agents=known_places()) as workspace:
        workspace.write(asked, [b"content"], overwrite=False, limit=LIMIT)
        parent = (root / asked).parent
        own = hashlib.sha256((root / asked).name.encode()).hexdigest()[:16]
        stay = {(root / asked).name}
        for number, is_ours in enumerate(ours):
            of = own if is_ours else "0123456789abcdef"
            left = f".codex-adapter-{of}-{number:016x}"
            (parent / left).touch()
            if not is_ours:
                stay.add(left)
        assert [entry.path for entry in workspace.entries(limit=99).files] == [asked]
        workspace.sweep(asked)
        assert {each.name for each in parent.iterdir()} == stay


def attempt(call: Callable[[], T]) -> T | WorkspaceError:
    """What a call gives, or its error."""
    try:
        return call()
    except WorkspaceError as error:
        return error


def contents(root: Path) -> dict[str, tuple[int, bytes]]:
    """All names below with their kind and, of files and links, their content."""
    found = {}
    for each in root.rglob("*"):
        kind = stat.S_IFMT(each.lstat().st_mode)
        content = each.read_bytes() if kind == stat.S_IFREG else b""
        found[str(each.relative_to(root))] = (kind, str(each.readlink()).encode() if kind == stat.S_IFLNK else content)
    return found


def directories(tree: dict[str, tuple[int, bytes]]) -> set[str]:
    """The names of those."""
    return {each for each, (kind, _) in tree.items() if kind == stat.S_IFDIR}
