"""Test the copies of spaces: complete, private, read-only and checked again."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import stat
from pathlib import Path

import pytest

from codex_adapter.spaces import SpaceError, prepare, resolve
from codex_adapter.spaces.content import read_content
from codex_adapter.spaces.state import State
from codex_adapter.spaces.store import Store

from .spaces_stage import Home, everything, make_space, write_files

pytestmark = pytest.mark.rule("Z7")


@pytest.fixture
def place(home: Home) -> Path:
    place = home.publish("a", "1.0.0", files={"skills/s/SKILL.md": "---\ndescription: x\n---", "bin/run": "#!/bin/sh"})
    (place / "bin" / "run").chmod(0o755)
    return place


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_a_copy_is_for_its_owner_alone_and_read_only(home: Home, place: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        copy = Path(prepare(home.path, ["space:a"]).spaces[0].directory)
    finally:
        os.umask(before)
    modes = {
        str(path.relative_to(copy)): stat.S_IMODE(path.stat().st_mode) for path in copy.rglob("*") if path.is_file()
    }
    assert modes == {"space.toml": 0o400, "skills/s/SKILL.md": 0o400, "bin/run": 0o500}
    state = home.path / "state"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (state, *state.rglob("*")) if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (state / "lock", *(state / "locks").iterdir())} == {0o600}
    assert read_content(copy) == read_content(place)


def test_a_copy_is_made_once(home: Home, place: Path) -> None:
    prepare(home.path, ["space:a"])
    before, copies = everything(home.path), [str(path) for path in home.store.iterdir()]
    prepare(home.path, ["space:a"])
    after = everything(home.path)
    assert [after.pop(copy) != before.pop(copy) for copy in copies] == [True]  # it is marked as used
    assert after == before
    make_space(home.project, "a", "1.0.0")
    shutil.copytree(place, home.project, dirs_exist_ok=True)
    prepare(home.path, [f"space:path:{home.project}"])
    assert len(list(home.store.iterdir())) == 1


@pytest.mark.parametrize(
    "damage", ["a file more", "a file less", "another content", "another kind", "a link", "no x", "much too deep"]
)
@pytest.mark.fault("turns", "A user changes a copy in the store", "The adapter creates it again from the space")
def test_a_copy_that_somebody_changed_is_made_anew(home: Home, place: Path, damage: str) -> None:
    before = prepare(home.path, ["space:a"])
    copy = Path(before.spaces[0].directory)
    if damage == "a file more":
        write_files(copy, {"more": ""})
    elif damage == "a file less":
        (copy / "bin" / "run").unlink()
    elif damage == "another content":
        (copy / "bin" / "run").unlink()
        write_files(copy, {"bin/run": "#!/bin/bash"})
    elif damage == "much too deep":
        fd = os.open(copy, os.O_RDONLY)
        for _ in range(2000):
            os.mkdir("deep", dir_fd=fd)
            above, fd = fd, os.open("deep", os.O_RDONLY, dir_fd=fd)
            os.close(above)
        os.close(fd)
    elif damage == "no x":
        (copy / "bin" / "run").chmod(0o400)
    else:
        shutil.rmtree(copy)
        copy.symlink_to(place.parent) if damage == "a link" else copy.touch()
    assert prepare(home.path, ["space:a"]) == before
    assert read_content(copy) == read_content(place)
    assert not copy.is_symlink()
    assert [entry.name for entry in home.store.iterdir()] == [before.spaces[0].digest]


@pytest.mark.rule("Z9")
@pytest.mark.parametrize("broken", ["state", "state/store", "state/locks"])
def test_a_link_is_refused_also_where_nothing_is_to_be_written(home: Home, place: Path, broken: str) -> None:
    prepare(home.path, ["space:a"])
    (home.path / broken).rename(home.project / "elsewhere")
    (home.path / broken).symlink_to(home.project / "elsewhere")
    for make in (prepare, resolve):
        with pytest.raises(SpaceError, match=r"^aspHome: state/, or a directory in it, is a link"):
            make(home.path, ["space:a"])


def test_what_python_leaves_beside_its_modules_is_no_change(home: Home, place: Path) -> None:
    copy = Path(prepare(home.path, ["space:a"]).spaces[0].directory)
    write_files(copy, {"bin/__pycache__/x.pyc": "x"})
    prepare(home.path, ["space:a"])
    assert (copy / "bin" / "__pycache__" / "x.pyc").exists()


@pytest.mark.parametrize("left", ["a directory", "a file", "a link"])
def test_what_killed_ones_left_is_removed_and_no_link_followed(home: Home, place: Path, left: str) -> None:
    home.store.mkdir(parents=True)
    write_files(home.project, {"precious": "x"})
    for name in (".new", ".old"):
        if left == "a directory":
            write_files(home.store / name, {"half/of": "it"})
        elif left == "a file":
            (home.store / name).touch()
        else:
            (home.store / name).symlink_to(home.project)
    found = prepare(home.path, ["space:a"])
    assert [entry.name for entry in home.store.iterdir()] == [found.spaces[0].digest]
    assert (home.project / "precious").read_text() == "x"


def test_a_space_that_changed_since_it_was_read_is_not_taken_for_what_it_was(home: Home, place: Path) -> None:
    store = Store(State(home.path))
    digest = read_content(place).digest
    write_files(place, {"more": ""})
    with pytest.raises(SpaceError, match=r"^it changes while it is read. Try again\.$"):
        store.keep(place, digest)
    assert store.content(digest) is None


@pytest.mark.parametrize("broken", ["state", "state/store", "state/locks", "state/lock"])
@pytest.mark.parametrize("kind", ["file", "fifo", "dangling", "link", "directory"])
def test_a_home_that_cannot_be_written_to_is_refused_and_nothing_hangs(
    home: Home, place: Path, broken: str, kind: str
) -> None:
    it = home.path / broken
    it.parent.mkdir(exist_ok=True)
    if kind == "file":
        it.touch()
    elif kind == "fifo":
        os.mkfifo(it)
    elif kind == "dangling":
        it.symlink_to("nothing/at/all")
    elif kind == "link":
        it.symlink_to(home.project)
    else:
        it.mkdir()
    fine = kind == "directory" if broken != "state/lock" else kind == "file"
    if fine:
        prepare(home.path, ["space:a"])
    else:
        with pytest.raises(SpaceError, match="aspHome: state/"):
            prepare(home.path, ["space:a"])
    assert list(home.project.iterdir()) == []


@pytest.mark.fault("turns", "The disk has no room for a copy", "The turn is refused and no partial copy remains")
def test_a_copy_for_which_there_is_no_room_is_refused_and_nothing_is_left(home: Home, place: Path) -> None:
    write_files(place, {"large": b"x" * 100_000})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(SpaceError, match=r"aspHome: state/ cannot be written to \(File too large\)"):
            prepare(home.path, ["space:a"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(home.store.iterdir()) == []
    assert list((home.path / "state" / "locks").iterdir()) == []
    prepare(home.path, ["space:a"])
