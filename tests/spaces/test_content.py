"""Test the digest of a space's content: every change changes it, and special files are refused."""

from __future__ import annotations

import hashlib
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.spaces import SpaceError
from codex_adapter.spaces.content import MOST_BYTES, MOST_NAMES, read_content

from ..needs import missing
from .spaces_stage import write_files

pytestmark = pytest.mark.rule("Z7")

NAMES = st.sampled_from(["a", "b", "a.b", "a b", "ü", "A"])
TREES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=2).map("/".join), st.tuples(st.binary(max_size=3), st.booleans()), max_size=5
).filter(lambda tree: not any(other.startswith(f"{path}/") for path in tree for other in tree))


def test_the_digest_is_what_the_rule_says(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/b": "1", "a.b": "2", "ü": ""})
    (tmp_path / "a.b").chmod(0o755)
    (tmp_path / "empty").mkdir()
    sha = hashlib.sha256
    parts = [b"a.b\0x\0" + sha(b"2").digest(), b"a/b\0-\0" + sha(b"1").digest(), "ü\0-\0".encode() + sha(b"").digest()]
    assert read_content(tmp_path).digest == sha(b"".join(parts)).hexdigest()


@given(TREES, TREES)
def test_digests_are_the_same_exactly_where_the_content_is(
    one: dict[str, tuple[bytes, bool]], other: dict[str, tuple[bytes, bool]]
) -> None:
    assert (_digest(one) == _digest(other)) == (one == other)


@given(TREES)
def test_neither_order_nor_times_nor_other_bits_matter(tree: dict[str, tuple[bytes, bool]]) -> None:
    assert _digest(tree) == _digest(dict(reversed(tree.items())), bits=0o044)


def _digest(tree: dict[str, tuple[bytes, bool]], bits: int = 0) -> str:
    with tempfile.TemporaryDirectory() as directory:
        for path, (data, executable) in tree.items():
            write_files(Path(directory), {path: data})
            Path(directory, path).chmod((0o700 if executable else 0o600) | bits)
        return read_content(Path(directory)).digest


def test_what_belongs_to_git_and_what_python_leaves_behind_is_no_part_of_it(tmp_path: Path) -> None:
    write_files(tmp_path, {"a": "1", "b/c": "2"})
    before = read_content(tmp_path)
    write_files(tmp_path, {".git/HEAD": "x", "b/__pycache__/c.pyc": "x", "b/.git": "gitdir: elsewhere"})
    (tmp_path / ".git" / "link").symlink_to("/")
    assert read_content(tmp_path) == before


def test_links_lead_to_a_space_and_none_is_in_it(tmp_path: Path) -> None:
    write_files(tmp_path, {"space/a": "1"})
    (tmp_path / "link").symlink_to("space")
    assert read_content(tmp_path / "link") == read_content(tmp_path / "space")
    (tmp_path / "space" / "loop").symlink_to(".")
    with pytest.raises(SpaceError, match=r"^loop is a link, which a space cannot contain"):
        read_content(tmp_path / "link")


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "socket", "device"])
def test_what_is_no_file_is_refused_and_not_touched(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "deep" / "it"
    place.parent.mkdir()
    if kind == "link":
        place.symlink_to("/etc/passwd")
    elif kind == "dangling":
        place.symlink_to("nothing")
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(place))
    else:
        try:
            os.mknod(place, 0o020644, os.makedev(1, 5))
        except PermissionError:
            missing("root")
    with pytest.raises(SpaceError, match=r"^deep/it is (a link|not a regular file), which a space cannot contain"):
        read_content(tmp_path)


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/\xff\n")).touch()
    with pytest.raises(SpaceError, match=r"^\uFFFD{2}: its name is not UTF-8. Rename it\.$"):
        read_content(tmp_path)


def test_what_is_too_large_is_refused_before_it_is_read_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(MOST_BYTES * 100_000)
    with pytest.raises(SpaceError, match=f"^its files have more than {MOST_BYTES} bytes"):
        read_content(tmp_path)


@pytest.mark.parametrize(
    ("path", "limit"), [("space.toml", 65536), ("AGENTS.md", 1048576), ("skills/a/SKILL.md", 1048576)]
)
def test_a_file_that_is_read_for_its_meaning_has_a_bound_of_its_own(tmp_path: Path, path: str, limit: int) -> None:
    write_files(tmp_path, {path: b"\n" * limit})
    assert len(read_content(tmp_path).kept[path]) == limit
    write_files(tmp_path, {path: b"\n" * (limit + 1)})
    with pytest.raises(SpaceError, match=f"^{path} is larger than {limit} bytes"):
        read_content(tmp_path)


def test_there_are_so_many_names_and_so_many_levels_and_no_more(tmp_path: Path) -> None:
    many, deep = tmp_path / "many", tmp_path / "deep"
    many.joinpath("below").mkdir(parents=True)
    for number in range(MOST_NAMES):
        os.mkdir(f"{many}/below/{number}")  # noqa: PTH102 - ten thousand times
    with pytest.raises(SpaceError, match=f"^it has more than {MOST_NAMES} files and directories"):
        read_content(many)
    deep.joinpath(*["d"] * 63).mkdir(parents=True)
    read_content(deep)
    deep.joinpath(*["d"] * 200).mkdir(parents=True)
    with pytest.raises(SpaceError, match=r"^its directories are more than 64 deep"):
        read_content(deep)


@pytest.mark.fault("turns", "A file of a space changes while the adapter reads it", "The adapter refuses the space")
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"a": "1"})

    @contextmanager
    def changing(_path: str, _executable: bool) -> Iterator[Callable[[bytes], None]]:
        yield lambda _: write_files(tmp_path, {"a": "22"})

    with pytest.raises(SpaceError, match=r"^a changes while it is read. Try again\.$"):
        read_content(tmp_path, changing)


@pytest.mark.parametrize("make", ["nothing", "a file", "a loop", "a long name", "a fifo"])
def test_what_is_no_directory_is_refused(tmp_path: Path, make: str) -> None:
    place = tmp_path / ("x" * 300 if make == "a long name" else "x")
    if make == "a file":
        place.touch()
    elif make == "a loop":
        place.symlink_to("x")
    elif make == "a fifo":
        os.mkfifo(place)
    with pytest.raises(SpaceError):
        read_content(place)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/b": "1", "c": "2"})
    (tmp_path / "a" / "link").symlink_to("b")
    before = sorted(Path("/proc/self/fd").iterdir())
    with pytest.raises(SpaceError):
        read_content(tmp_path)
    assert sorted(Path("/proc/self/fd").iterdir()) == before
