"""Test the order of spaces against a slow definition, and the messages for impossible orders."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.spaces import SpaceError, TargetSpec, resolve
from codex_adapter.spaces.dependencies import MOST_SPACES, Loaded, order_spaces
from codex_adapter.spaces.finder import Found
from codex_adapter.spaces.space_files import Manifest, SpaceFiles

from .spaces_stage import Home, everything, make_space

pytestmark = pytest.mark.rule("Z5")

NODES = [f"{id_}{version}" for id_ in "abcde" for version in (1, 2)]
"""The first letter is a space's id, the rest the version in which it is found."""
GRAPHS = st.fixed_dictionaries({node: st.lists(st.sampled_from(NODES[::2]), max_size=3) for node in NODES})
CONFLICTING = st.fixed_dictionaries({node: st.lists(st.sampled_from(NODES), max_size=2) for node in NODES})
ROOTS = st.lists(st.sampled_from(NODES[::2]), max_size=4)


def order(graph: Mapping[str, Sequence[str]], roots: Sequence[str]) -> list[str]:
    """What comes out for spaces that are only in memory."""

    def load(found: Found) -> Loaded:
        manifest = Manifest(schema=1, id=found.directory.name[0], deps=tuple(graph[found.directory.name]))
        return Loaded(SpaceFiles(manifest, "", {}, (), {}), "", found.directory, found.directory)

    spaces = order_spaces(roots, None, lambda reference, _: Found(Path("/", reference), Path("/", reference)), load)
    return [space.reference for space in spaces]


def closure(graph: Mapping[str, Sequence[str]], roots: Sequence[str]) -> set[str]:
    reached = set(roots)
    while not (more := {dep for node in reached for dep in graph[node]}) <= reached:
        reached |= more
    return reached


def written_out(graph: Mapping[str, Sequence[str]], node: str) -> list[str]:
    """All that a space needs, again and again, and the space."""
    return [*(it for dep in graph[node] for it in written_out(graph, dep)), node]


def has_cycle(graph: Mapping[str, Sequence[str]], nodes: set[str]) -> bool:
    return any(node in closure(graph, graph[node]) for node in nodes)


@given(GRAPHS, ROOTS)
def test_the_order_is_that_of_the_definition_and_cycles_are_found_where_there_are_any(
    graph: dict[str, list[str]], roots: list[str]
) -> None:
    if has_cycle(graph, closure(graph, roots)):
        with pytest.raises(SpaceError, match=r"it depends on itself"):
            order(graph, roots)
        return
    assert order(graph, roots) == list(dict.fromkeys(it for root in roots for it in written_out(graph, root)))


@given(CONFLICTING, ROOTS)
def test_two_places_of_one_id_are_found_where_there_are_any(graph: dict[str, list[str]], roots: list[str]) -> None:
    nodes = closure(graph, roots)
    if has_cycle(graph, nodes) or len({node[0] for node in nodes}) < len(nodes):
        with pytest.raises(SpaceError, match=r"it depends on itself|there are two places of"):
            order(graph, roots)
        return
    found = order(graph, roots)
    assert sorted(found) == sorted(nodes)
    assert all(found.index(dep) < found.index(node) for node in nodes for dep in graph[node])


def test_a_long_chain_has_an_end() -> None:
    chain = {f"{number}": [f"{number + 1}"] for number in range(5000)}

    def load(found: Found) -> Loaded:
        manifest = Manifest(schema=1, id=f"a{found.directory.name}", deps=tuple(chain[found.directory.name]))
        return Loaded(SpaceFiles(manifest, "", {}, (), {}), "", found.directory, found.directory)

    with pytest.raises(SpaceError, match=f"there are more than {MOST_SPACES} spaces") as caught:
        order_spaces(["0"], None, lambda reference, _: Found(Path("/", reference), Path("/", reference)), load)
    assert len(caught.value.way) == MOST_SPACES


def test_dependencies_come_first_whatever_kind_of_reference_leads_to_them(home: Home) -> None:
    home.publish("base", "1.0.0")
    home.publish("base", "1.1.0")
    home.publish("tools", "dev", ["space:base@^1", "space:path:inside"])
    make_space(home.registry / "tools" / "dev" / "inside", "inside")
    make_space(home.project / "spaces" / "ours", "ours", None, ["space:tools", "space:path:../near"])
    make_space(home.project / "spaces" / "near", "near", "0.1.0")
    home.targets('[targets.web]\ncompose = ["space:project:ours", "space:path:spaces/near", "space:base@^1"]')
    before = everything(home.path.parent)
    environment = resolve(home.path, TargetSpec(name="web", directory=str(home.project)))
    assert [(space.id, space.version) for space in environment.spaces] == [
        *(("base", "1.1.0"), ("inside", None), ("tools", None), ("near", "0.1.0"), ("ours", None))
    ]
    assert environment.spaces[0].reference == "space:base@^1"
    assert environment.spaces[1].directory == str(home.registry / "tools" / "dev" / "inside")
    assert everything(home.path.parent) == before


@pytest.mark.rule("Z3")
def test_one_place_may_be_reached_in_several_ways(home: Home) -> None:
    place = home.publish("a", "1.0.0")
    (home.path / "link").symlink_to(place)
    found = resolve(home.path, [f"space:path:{home.path}/link", "space:a", "space:a@1.0.0", f"space:path:{place}/."])
    assert [space.id for space in found.spaces] == ["a"]


def refused(home: Home, spec: Sequence[str] | TargetSpec) -> str:
    before = everything(home.path.parent)
    with pytest.raises(SpaceError) as caught:
        resolve(home.path, spec)
    assert everything(home.path.parent) == before
    return str(caught.value)


def test_an_error_names_the_reference_and_the_way_to_it(home: Home) -> None:
    home.publish("a", "1.0.0", ["space:b"])
    home.publish("b", "1.0.0", ["space:c@^2"])
    home.publish("c", "1.0.0")
    assert refused(home, ["space:c", "space:a"]).startswith(
        "space:c@^2 (by way of a > b): the registry has no version in"
    )
    with pytest.raises(SpaceError) as caught:
        resolve(home.path, ["space:a"])
    assert (caught.value.reference, caught.value.way) == ("space:c@^2", ("a", "b"))


def test_a_cycle_is_named_with_the_whole_way(home: Home) -> None:
    home.publish("a", "1.0.0", ["space:b"])
    home.publish("b", "dev", ["space:a@^1"])
    assert refused(home, ["space:a"]).startswith("space:a@^1 (by way of a > b): it depends on itself")


def test_two_versions_and_two_places_are_named(home: Home) -> None:
    home.publish("a", "1.0.0")
    home.publish("a", "2.0.0")
    home.publish("b", "1.0.0", ["space:a@^1"])
    elsewhere = make_space(home.project / "a", "a")
    assert refused(home, ["space:a", "space:b"]) == (
        "space:a@^1 (by way of b): there are two versions of 'a', 1.0.0 and, by space:a, 2.0.0. Choose one for both."
    )
    assert refused(home, ["space:a", f"space:path:{elsewhere}"]) == (
        f"space:path:{elsewhere}: there are two places of 'a', this one and the one of space:a. Choose one for both."
    )


@pytest.mark.rule("Z3", "Z4")
def test_what_is_not_there_or_not_what_it_is_found_as_is_refused(home: Home) -> None:
    project = str(home.project)
    make_space(home.registry / "a" / "1.0.0", "b", "1.0.0")
    make_space(home.registry / "c" / "1.0.0", "c", "1.0.1")
    make_space(home.project / "spaces" / "d", "e")
    (home.registry / "f" / "1.0.0").mkdir(parents=True)
    (home.registry / "g").mkdir()
    (home.registry / "g" / "1.0.0").touch()
    assert "key 'id' is not the id" in refused(home, ["space:a"])
    assert "key 'version' is not the version" in refused(home, ["space:c"])
    assert "it has no space.toml" in refused(home, ["space:f"])
    (home.registry / "h").mkdir()
    (home.registry / "h" / "2.0.0-rc.1").mkdir()
    assert "the registry has no release and no dev" in refused(home, ["space:g"])
    assert "the registry has no release and no dev" in refused(home, ["space:h"])
    assert "the registry has no dev of this space" in refused(home, ["space:h@dev"])
    assert "its directory does not exist" in refused(home, [f"space:path:{project}/nothing"])
    assert refused(home, [""]) == "an empty reference: a reference must begin with 'space:'"
    assert "the registry does not have this space" in refused(home, ["space:nothing"])
    assert "the registry does not have this version" in refused(home, ["space:c@1.0.1"])
    assert "Write an absolute path" in refused(home, ["space:path:x"])
    assert "a reference to a project needs a target" in refused(home, ["space:project:d"])
    assert "has no asp-targets.toml" in refused(home, TargetSpec(name="web", directory=project))
    home.targets('[targets.web]\ncompose = ["space:project:d"]')
    assert "key 'id' is not the id" in refused(home, TargetSpec(name="web", directory=project))
    assert "has no target 'docs'" in refused(home, TargetSpec(name="docs", directory=project))
    assert "is not an absolute path" in refused(home, TargetSpec(name="web", directory="."))
    assert "is not an absolute path" in refused(home, TargetSpec(name="web", directory="/\0"))
    with pytest.raises(SpaceError, match=r"^aspHome is not an absolute path$"):
        resolve("home", [])


@pytest.mark.rule("Z3")
def test_a_way_of_a_few_links_is_gone_and_one_without_end_refused(home: Home) -> None:
    make_space(home.project / "0", "a")
    for number in range(3000):
        (home.project / f"{number + 1}").symlink_to(f"{number}")
    assert resolve(home.path, [f"space:path:{home.project}/20"]).spaces[0].directory == str(home.project / "0")
    said = refused(home, [f"space:path:{home.project}/3000"])
    assert said.endswith("/3000: its directory cannot be read (Too many levels of symbolic links)")
    with pytest.raises(SpaceError, match=r"^aspHome cannot be read \(Too many levels of symbolic links\)$"):
        resolve(home.project / "3000", [])


@pytest.mark.rule("Z7")
def test_a_space_in_which_its_own_copies_would_be_is_refused(home: Home) -> None:
    make_space(home.path, "a")
    for place in (home.path, home.path.parent):
        make_space(place, "a")
        assert "it contains aspHome, so it would contain its own copies" in refused(home, [f"space:path:{place}"])
    make_space(home.path / "inside", "a")
    assert resolve(home.path, [f"space:path:{home.path}/inside"]).spaces[0].id == "a"


@pytest.mark.rule("Z9")
def test_a_home_whose_path_nobody_could_write_down_is_refused(home: Home) -> None:
    real = os.fsdecode(os.fsencode(home.path.parent) + b"/\xff")
    os.mkdir(real)  # noqa: PTH102 - as it is
    (home.path.parent / "link").symlink_to(real)
    for path in (real, str(home.path.parent / "link")):
        with pytest.raises(SpaceError, match=r"^the path of aspHome is not UTF-8. Rename its directories\.$"):
            resolve(path, [])


@pytest.mark.rule("Z3")
def test_tags_and_dev_are_chosen_by_name(home: Home) -> None:
    for version in ("1.0.0", "1.1.0", "2.0.0-rc.1", "dev"):
        home.publish("a", version)
    (home.registry / "a" / "tags.toml").write_text('schema = 1\n[tags]\nnext = "2.0.0-rc.1"')

    def came_to(reference: str) -> str | None:
        return resolve(home.path, [reference]).spaces[0].version

    assert came_to("space:a") == "1.1.0"
    assert came_to("space:a@next") == "2.0.0-rc.1"
    assert came_to("space:a@dev") is None
    assert came_to("space:a@~1.0.0") == "1.0.0"
    (home.registry / "a" / "tags.toml").unlink()
    assert "tags.toml does not have this tag" in refused(home, ["space:a@next"])
