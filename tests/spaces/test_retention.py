"""Test that only unused copies leave the store: no locked ones, no active ones, no partial removal."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from codex_adapter.own_directories import remove_tree
from codex_adapter.spaces import prepare, resolve
from codex_adapter.spaces.content import read_content
from codex_adapter.spaces.retention import KEPT_FOR, MOST_REMOVED, mark_used
from codex_adapter.spaces.state import State

from .spaces_stage import Home, make_space, write_files

pytestmark = pytest.mark.rule("Z10")

PROGRAM = str(Path(__file__).with_name("preparing.py"))
HOUR = 3600.0


def begin(home: Home, text: str) -> Path:
    """Have a copy of a space with this text."""
    place = make_space(home.project / "a", "a", files={"AGENTS.md": text, "deep/er/file": text})
    return Path(prepare(home.path, [f"space:path:{place}"]).spaces[0].directory)


def let_pass(copy: Path, seconds: float = KEPT_FOR + HOUR) -> None:
    then = time.time() - seconds
    os.utime(copy, (then, then))


def copies(home: Home) -> set[Path]:
    return set(home.store.iterdir())


def test_thirty_days_are_meant() -> None:
    assert KEPT_FOR == 30 * 24 * 3600


def test_a_copy_goes_when_another_is_made_and_no_turn_has_begun_with_it_for_so_long(home: Home) -> None:
    long, short = begin(home, "1"), begin(home, "2")
    let_pass(long)
    let_pass(short, KEPT_FOR - HOUR)
    begin(home, "2")
    assert copies(home) == {long, short}
    let_pass(short, KEPT_FOR - HOUR)
    new = begin(home, "3")
    assert copies(home) == {short, new}
    assert not list(home.store.glob(".*"))


def test_a_turn_that_begins_with_a_copy_has_used_it_and_looking_is_no_use(home: Home) -> None:
    copy = begin(home, "1")
    for make in (prepare, resolve):
        let_pass(copy)
        make(home.path, [f"space:path:{home.project}/a"])
        assert (time.time() - copy.stat().st_mtime < HOUR) == (make is prepare)
        assert copies(home) == {copy}
    begin(home, "2")
    assert copy not in copies(home)


def test_what_a_lock_names_stays(home: Home) -> None:
    home.publish("b", "1.0.0")
    copy = Path(prepare(home.path, ["space:b"]).spaces[0].directory)
    shutil.rmtree(home.registry)
    let_pass(copy)
    new = begin(home, "1")
    assert copies(home) == {copy, new}
    assert prepare(home.path, ["space:b"]).spaces[0].version == "1.0.0"


@pytest.mark.parametrize("damage", ["cut", "more", "a directory", "another schema"])
def test_what_a_lock_names_that_is_none_any_more_stays_too(home: Home, damage: str) -> None:
    home.publish("b", "1.0.0")
    copy = Path(prepare(home.path, ["space:b"]).spaces[0].directory)
    (lock,) = (home.path / "state" / "locks").iterdir()
    if damage == "cut":
        lock.write_bytes(lock.read_bytes()[:-5])
    elif damage == "more":
        lock.write_bytes(b"\xff" + lock.read_bytes())
    elif damage == "another schema":
        lock.write_text(json.dumps({"schema": 2, "all": [copy.name]}))
    else:
        lock.unlink()
        lock.mkdir()
    let_pass(copy)
    begin(home, "1")
    assert copy in copies(home)
    shutil.rmtree(lock) if lock.is_dir() else lock.unlink()
    begin(home, "2")
    assert copy not in copies(home)


def test_a_turn_waits_for_no_more_than_a_few_to_go_but_they_become_fewer(home: Home) -> None:
    old = {begin(home, str(number)) for number in range(2 * MOST_REMOVED)}
    for copy in old:
        let_pass(copy)
    first = begin(home, "first")
    assert len(copies(home) & old) == MOST_REMOVED
    second = begin(home, "second")
    assert copies(home) == {first, second}


def test_what_killed_ones_left_goes_and_what_is_not_ours_stays(home: Home) -> None:
    State(home.path).locks.mkdir(parents=True)
    write_files(home.path / "state", {"locks/.codex-adapter-0123456789abcdef.tmp": "x", "locks/x.json.tmp": "x"})
    write_files(home.store, {".new-0123456789abcdef/space.toml": "x", ".old-01/x": "x"})
    write_files(home.path / "state", {"locks/.keep": "", "store/.keep": "", "store/README": "ours"})
    let_pass(home.store / "README")
    copy = begin(home, "1")
    assert copies(home) == {copy, home.store / ".keep", home.store / "README"}
    assert [path.name for path in State(home.path).locks.iterdir()] == [".keep"]


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_stands_in_the_place_of_a_copy_goes_as_one_and_no_link_is_followed(home: Home, kind: str) -> None:
    write_files(home.project, {"precious/x": "x"})
    home.store.mkdir(parents=True)
    it = home.store / ("0" * 64)
    it.touch() if kind == "file" else it.symlink_to(home.project / "precious")
    os.utime(it, (0, 0), follow_symlinks=False)
    before = (home.project / "precious").stat().st_mtime_ns
    assert mark_used(it)
    assert time.time() - it.lstat().st_mtime < HOUR
    os.utime(it, (0, 0), follow_symlinks=False)
    copy = begin(home, "1")
    assert copies(home) == {copy}
    assert (home.project / "precious").stat().st_mtime_ns == before
    assert (home.project / "precious" / "x").exists()


@pytest.mark.fault(
    "turns", "A turn uses a copy that another process has just selected for removal", "The turn creates the copy again"
)
def test_who_may_have_been_chosen_to_go_is_looked_at_again_after_the_choice(home: Home) -> None:
    """A turn that begins with a copy just before it is removed waits for who removes it, and makes it anew."""
    copy = begin(home, "1")
    let_pass(copy)
    turn = Thread(target=begin, args=(home, "1"))
    with State(home.path).exclusive():
        turn.start()
        while time.time() - copy.stat().st_mtime > HOUR:
            pass  # until the turn has marked it
        remove_tree(copy)
    turn.join()
    assert read_content(copy).digest == copy.name


@pytest.mark.fault("turns", "An old copy cannot be removed", "No turn fails")
def test_what_cannot_be_removed_fails_no_turn_and_is_in_nobodys_way(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, old = begin(home, "1"), begin(home, "2")
    for copy in (stuck, old):
        let_pass(copy)

    def refusing(path: Path) -> None:
        if (path / "AGENTS.md").exists() and (path / "AGENTS.md").read_text() == "1":
            raise PermissionError
        remove_tree(path)

    monkeypatch.setattr("codex_adapter.spaces.retention.remove_tree", refusing)
    for number in range(3, 3 + 2 * MOST_REMOVED):
        begin(home, str(number))
    assert old not in copies(home)
    monkeypatch.undo()
    begin(home, "last")
    assert not [path for path in copies(home) if path.name.startswith(".")]


@pytest.mark.fault(
    "turns", "SIGKILL ends a process while it removes an old copy", "The copy is either complete or absent"
)
def test_a_process_that_is_killed_while_it_removes_leaves_no_part_of_a_copy(home: Home) -> None:
    old = {begin(home, str(number)) for number in range(3)}
    for copy in old:
        let_pass(copy)
    home.publish("b", "1.0.0")
    done = subprocess.run(
        [sys.executable, PROGRAM, "killed", str(home.path), "7", "31", "space:b"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    left = set()
    for path in map(Path, done.stdout.split()):
        store = path / "state" / "store"
        whole = {copy.name for copy in store.iterdir() if copy.name[0] != "."}
        assert all(read_content(store / name).digest == name for name in whole)
        left.add(len(whole & {copy.name for copy in old}))
        found = prepare(path, ["space:b"]).spaces[0].digest
        write_files(path, {"c/space.toml": 'schema = 1\nid = "c"'})
        other = prepare(path, [f"space:path:{path}/c"]).spaces[0].digest
        assert {copy.name for copy in store.iterdir()} == {found, other}
    assert left == {0, 1, 2, 3}


def test_a_directory_goes_whatever_is_in_it(tmp_path: Path) -> None:
    write_files(tmp_path, {"precious/x": "x", "top/a/b/c": "x", "top/e": "x"})
    (tmp_path / "top" / "a" / "link").symlink_to(tmp_path / "precious")
    os.mkfifo(tmp_path / "top" / "a" / "fifo")
    deep = os.open(tmp_path / "top", os.O_RDONLY)
    for _ in range(3000):  # deeper than a path can say, or a stack hold
        os.mkdir("d" * 20, dir_fd=deep)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    for path in (tmp_path / "top" / "a" / "b", tmp_path / "top" / "a", tmp_path / "top"):
        path.chmod(0o000)
    remove_tree(tmp_path / "top")
    remove_tree(tmp_path / "nothing")
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
    assert (tmp_path / "precious" / "x").exists()
