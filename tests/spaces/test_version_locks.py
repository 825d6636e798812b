"""Test that a spec always yields the same spaces, whatever happens to the registry."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_adapter.spaces import SpaceError, TargetSpec, prepare, resolve
from codex_adapter.spaces.content import read_content
from codex_adapter.spaces.state import State
from codex_adapter.spaces.version_locks import Lock, Locked

from .spaces_stage import Home, make_space, write_files

pytestmark = pytest.mark.rule("Z8")

SELECTORS = ["", "@^1", "@~1.0.0", "@>=1.0.0 <3.0.0", "@1.x", "@1.0.0", "@stable", "@*"]
NEWER = ["1.0.1", "1.2.0", "2.0.0", "3.0.0-rc.1"]


def lock(home: Home) -> dict[str, dict[str, str]]:
    (file,) = (home.path / "state" / "locks").iterdir()
    content = json.loads(file.read_text())
    assert content.pop("schema") == 1
    spaces: dict[str, dict[str, str]] = content.pop("spaces")
    assert content == {}
    return spaces


def versions(home: Home, spec: Sequence[str] | TargetSpec) -> list[str | None]:
    prepared = prepare(home.path, spec)
    looked_up = resolve(home.path, spec)
    assert [(it.id, it.version, it.digest) for it in prepared.spaces] == [
        (it.id, it.version, it.digest) for it in looked_up.spaces
    ]
    return [space.version for space in prepared.spaces]


def test_each_reference_to_a_version_is_locked_and_nothing_else(home: Home) -> None:
    home.publish("a", "1.0.0", ["space:b@^1", "space:b@1.0.0"])
    home.publish("b", "1.0.0")
    home.publish("c", "dev")
    near = make_space(home.project / "d", "d", "1.0.0")
    prepare(home.path, ["space:a", "space:c", f"space:path:{near}"])
    digest = {id_: read_content(home.registry / id_ / "1.0.0").digest for id_ in "ab"}
    assert lock(home) == {
        "space:a": {"version": "1.0.0", "digest": digest["a"]},
        "space:b@^1": {"version": "1.0.0", "digest": digest["b"]},
        "space:b@1.0.0": {"version": "1.0.0", "digest": digest["b"]},
    }


@settings(max_examples=40)
@given(st.sampled_from(SELECTORS), st.sampled_from(SELECTORS), st.data())
def test_the_environment_of_a_spec_stays_as_it_was_at_first(selector: str, other: str, data: st.DataObject) -> None:
    with TemporaryDirectory() as directory:
        home = Home(Path(directory))
        order = data.draw(st.permutations(NEWER))
        home.publish("a", "1.0.0", [f"space:b{other}"])
        home.publish("b", "1.0.0")
        (home.registry / "b" / "tags.toml").write_text('schema = 1\n[tags]\nstable = "1.0.0"')
        (home.registry / "a" / "tags.toml").write_text('schema = 1\n[tags]\nstable = "1.0.0"')
        spec = [f"space:a{selector}"]
        first = prepare(home.path, spec)
        for version in order:
            for id_ in data.draw(st.sets(st.sampled_from("ab"))):
                home.publish(id_, version, files={"AGENTS.md": "Newer."})
                (home.registry / id_ / "tags.toml").write_text(f'schema = 1\n[tags]\nstable = "{version}"')
            if data.draw(st.booleans()):
                shutil.rmtree(home.registry / data.draw(st.sampled_from("ab")) / "1.0.0", ignore_errors=True)
            assert prepare(home.path, spec) == first
            assert [it.digest for it in resolve(home.path, spec).spaces] == [it.digest for it in first.spaces]


@pytest.mark.fault("turns", "The registry was removed", "The adapter loads locked specs from the store")
def test_the_whole_registry_may_go(home: Home) -> None:
    home.publish("a", "1.0.0", ["space:path:inside"], files={"AGENTS.md": "Old."})
    make_space(home.registry / "a" / "1.0.0" / "inside", "inside")
    before = prepare(home.path, ["space:a"])
    shutil.rmtree(home.registry)
    assert prepare(home.path, ["space:a"]).instructions == before.instructions
    looked_up = resolve(home.path, ["space:a"])
    assert looked_up.spaces[1].directory == before.spaces[1].directory
    shutil.rmtree(home.store)
    for make in (prepare, resolve):
        with pytest.raises(
            SpaceError, match=r"^space:a: version 1\.0\.0 is locked, but its content is not available any more"
        ):
            make(home.path, ["space:a"])


def test_another_spec_has_a_lock_of_its_own(home: Home) -> None:
    home.publish("a", "1.0.0")
    home.targets('[targets.t]\ncompose = ["space:a"]\n[targets.u]\ncompose = ["space:a"]')
    target = TargetSpec(name="t", directory=str(home.project))
    assert versions(home, ["space:a"]) == versions(home, target) == ["1.0.0"]
    home.publish("a", "1.1.0")
    assert versions(home, ["space:a"]) == versions(home, target) == ["1.0.0"]
    assert versions(home, ["space:a@^1"]) == ["1.1.0"]
    assert versions(home, TargetSpec(name="u", directory=str(home.project))) == ["1.1.0"]
    home.targets('[targets.t]\ncompose = ["space:a", "space:a"]')
    assert versions(home, target) == ["1.1.0"]
    home.targets('[targets.t]\ndescription = "as it was"\ncompose = ["space:a"]\nharness.x.model = "m"')
    assert versions(home, target) == ["1.0.0"]


def test_dev_and_paths_are_what_they_are_now_and_what_they_come_to_need_is_locked_then(home: Home) -> None:
    near = make_space(home.project / "near", "near", None, ["space:a"])
    home.publish("a", "1.0.0")
    home.publish("b", "1.0.0")
    spec = [f"space:path:{near}"]
    first = prepare(home.path, spec)
    make_space(near, "near", None, ["space:a", "space:b"])
    home.publish("a", "1.1.0")
    second = prepare(home.path, spec)
    assert [space.version for space in second.spaces] == ["1.0.0", "1.0.0", None]
    assert second.spaces[2].digest != first.spaces[1].digest
    home.publish("b", "1.1.0")
    assert versions(home, spec) == ["1.0.0", "1.0.0", None]
    assert sorted(lock(home)) == ["space:a", "space:b"]


def test_what_came_to_dev_is_not_locked(home: Home) -> None:
    home.publish("a", "dev")
    assert versions(home, ["space:a"]) == [None]
    home.publish("a", "1.0.0")
    assert versions(home, ["space:a"]) == ["1.0.0"]


@pytest.mark.fault(
    "turns",
    "The content of a version in the registry has changed",
    "The adapter refuses it, because a version never changes",
)
def test_a_version_with_other_content_than_it_had_is_refused(home: Home) -> None:
    place = home.publish("a", "1.0.0")
    before = prepare(home.path, ["space:a"])
    write_files(place, {"AGENTS.md": "Changed."})
    for make in (prepare, resolve):
        with pytest.raises(SpaceError, match=r"^space:a: the content of this version changed after it was locked"):
            make(home.path, ["space:a"])
    assert [entry.name for entry in home.store.iterdir()] == [before.spaces[0].digest]
    (place / "AGENTS.md").unlink()
    assert prepare(home.path, ["space:a"]) == before


@pytest.mark.rule("Z9")
def test_who_locks_later_sees_what_was_locked_meanwhile(home: Home) -> None:
    one, two = (Lock(State(home.path), "0" * 64) for _ in range(2))
    first, second = (Locked(version=version, digest="0" * 64) for version in ("1.0.0", "1.1.0"))
    assert one.read() == two.read() == {}
    assert one.add({}, {"space:a": first})
    assert not two.add({}, {"space:a": second})
    assert two.read() == {"space:a": first}
    assert two.add(two.read(), {"space:a": first, "space:b": second})
    assert one.read() == {"space:a": first, "space:b": second}


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b'{"schema":1,"spaces":{"space:a":{"version":"1.0.0","digest":"../../etc"}}}',
        b'{"schema":1,"spaces":{"space:a":{"version":"../../x","digest":"' + b"0" * 64 + b'"}}}',
        b'{"schema":2,"spaces":{}}',
        b"[" * 100_000,
    ],
)
@pytest.mark.fault("turns", "The lock of a spec is damaged", "The adapter refuses it and keeps the file for inspection")
def test_a_lock_that_is_none_is_refused_and_stays_for_people_to_look_at(home: Home, damage: bytes) -> None:
    home.publish("a", "1.0.0")
    prepare(home.path, ["space:a"])
    (file,) = (home.path / "state" / "locks").iterdir()
    file.write_bytes(damage)
    for make in (prepare, resolve):
        with pytest.raises(SpaceError, match=f"aspHome: state/locks/{file.name}"):
            make(home.path, ["space:a"])
    assert file.read_bytes() == damage
    file.unlink()
    prepare(home.path, ["space:a"])
