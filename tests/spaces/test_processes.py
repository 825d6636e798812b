"""Test several processes under one `aspHome`, some of them killed: no partial state remains."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from inotify_simple import INotify, flags

from codex_adapter.spaces import SpaceError, prepare, resolve
from codex_adapter.spaces.content import read_content
from codex_adapter.spaces.state import State

from .spaces_stage import Home, make_space

pytestmark = pytest.mark.rule("Z9")

PROGRAM = str(Path(__file__).with_name("preparing.py"))
FILES = {f"files/{number}": f"{number}" * 1000 for number in range(30)}


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def check_whole(home: Path) -> None:
    """Whatever is in the store under a digest has this digest, and each lock is one, with all of its content there."""
    store = home / "state" / "store"
    entries = {entry.name for entry in store.iterdir()} if store.exists() else set()
    assert all(re.fullmatch(r"[0-9a-f]{64}|\.(new|old)-[0-9a-f]{16}", name) for name in entries)
    for name in (entry for entry in entries if entry[0] != "."):
        assert read_content(store / name).digest == name
    for lock in (home / "state" / "locks").glob("*.json"):
        locked = json.loads(lock.read_bytes())["spaces"]
        assert {it["digest"] for it in locked.values()} <= entries


@pytest.mark.rule("Z8")
def test_processes_that_come_first_at_once_all_get_the_same(home: Home) -> None:
    for id_ in ("a", "b"):
        home.publish(id_, "1.0.0", ["space:b"] if id_ == "a" else [], files=FILES)
    with (
        process("once", str(home.path), "space:a") as one,
        process("once", str(home.path), "space:a") as two,
        process("once", str(home.path), "space:a") as three,
    ):
        all_ = (one, two, three)
        for it in all_:
            assert it.stdout is not None
            assert it.stdout.readline() == "ready\n"
        for number, it in enumerate(all_, 1):
            assert it.stdin is not None
            it.stdin.write("\n")
            it.stdin.flush()
            home.publish("b", f"1.{number}.0", files=FILES)
            home.publish("a", f"1.{number}.0", ["space:b@^1"], files=FILES)
        came_to = {it.communicate(timeout=60)[0] for it in all_}
    assert len(came_to) == 1
    now = prepare(home.path, ["space:a"])
    assert came_to == {" ".join(f"{space.id}@{space.version}" for space in now.spaces) + "\n"}
    check_whole(home.path)


@pytest.mark.rule("Z7")
@pytest.mark.fault(
    "turns",
    "SIGKILL ends a process at any call of a first preparation",
    "No partial copy remains; the next process gets the same result",
)
def test_a_process_that_is_killed_anywhere_leaves_nothing_half(home: Home) -> None:
    home.publish("a", "1.0.0", ["space:b@^1"], files={"bin/run": "x"})
    home.publish("b", "1.0.0")
    arguments = [str(home.path), "7", "23", "space:a"]
    done = subprocess.run(
        [sys.executable, PROGRAM, "killed", *arguments], check=True, capture_output=True, text=True, timeout=60
    )
    copies = done.stdout.split()
    assert len(copies) > 20
    assert done.stderr == ""
    steps = set()
    for copy in map(Path, copies):
        check_whole(copy)
        steps.add((len(list(copy.glob("state/store/*"))), len(list(copy.glob("state/locks/*.json")))))
        looked_up, prepared = resolve(copy, ["space:a"]), prepare(copy, ["space:a"])
        assert [it.digest for it in looked_up.spaces] == [it.digest for it in prepared.spaces]
        check_whole(copy)
        assert sorted(path.name[0] != "." for path in copy.glob("state/store/*")) == [True, True]
    assert {(0, 0), (2, 0), (2, 1)} <= steps


@pytest.mark.fault(
    "turns", "SIGKILL ends random processes that share one aspHome", "The other processes get the correct result"
)
def test_processes_that_are_killed_while_they_write_do_not_hurt_others(home: Home, tmp_path: Path) -> None:
    home.publish("shared", "1.0.0", files=FILES)
    instants = random.Random(9)
    for round_ in range(3):
        own = [str(make_space(tmp_path / f"own{round_}-{number}", f"own{number}", files=FILES)) for number in range(3)]
        with (
            process("again", str(home.path), own[0]) as first,
            process("again", str(home.path), own[1]) as second,
            process("again", str(home.path), own[2]) as third,
        ):
            for it in (first, second, third):
                assert it.stdout is not None
                assert it.stdout.readline() == "0\n"
            for it in (first, second):
                with pytest.raises(subprocess.TimeoutExpired):
                    it.wait(instants.uniform(0.001, 0.1))
                it.kill()
                check_whole(home.path)
            assert prepare(home.path, ["space:shared@^1"]).spaces[0].version == "1.0.0"
            assert third.stdout is not None
            before = int(third.stdout.readline())
            assert int(third.stdout.readline()) == before + 1
        check_whole(home.path)
    prepare(home.path, ["space:shared"])
    assert not list((home.path / "state").glob("**/*.tmp"))


@pytest.mark.fault("turns", "A process removes the lock file while others wait for it", "Only one process writes")
def test_who_waited_for_a_lock_that_was_removed_waits_for_the_one_in_its_place(home: Home) -> None:
    home.publish("a", "1.0.0")
    state = State(home.path)
    with state.exclusive(), INotify() as opened, process("once", str(home.path), "space:a") as it:
        assert it.stdout is not None
        assert it.stdin is not None
        assert it.stdout.readline() == "ready\n"
        opened.add_watch(state.root / "lock", flags.OPEN)
        it.stdin.write("\n")
        it.stdin.flush()
        assert opened.read(timeout=60_000), "it does not wait for the lock"
        assert it.poll() is None
        (state.root / "lock").unlink()
        with state.exclusive(patience=0), pytest.raises(subprocess.TimeoutExpired):
            it.wait(0.2)
        assert it.communicate(timeout=60)[0] == "a@1.0.0\n"


def test_who_waits_for_too_long_gives_up(home: Home) -> None:
    with State(home.path).exclusive():
        with pytest.raises(SpaceError, match="another process has been writing for too long"):
            with State(home.path).exclusive(patience=0.05):
                pass
    with State(home.path).exclusive(patience=0):
        pass
