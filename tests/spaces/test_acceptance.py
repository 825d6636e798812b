"""Test that content that agents could have changed is not used until a user accepts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.spaces import Environment, SpaceError, TargetSpec, prepare, resolve
from codex_adapter.spaces.preparation import Spec
from codex_adapter.spaces.reach import Reach

from ..needs import missing
from .spaces_stage import Home, everything, make_space, write_files

pytestmark = pytest.mark.rule("Z11")

CHANGED = "agents may write there, and it changed after it was accepted. Check it, then accept it with "
NEW = "an agent of an earlier turn could write there, and it was never accepted. Check it, then accept it "


def turn(home: Home, spec: Spec, *roots: Path, accept: bool = False) -> Environment:
    """What a turn is given whose agent may write in these directories."""
    return prepare(home.path, spec, "codex", writable=lambda _: [str(root) for root in roots], accept=accept)


def spec_of(home: Home, kind: str) -> Spec:
    """A spec whose power lies in the project, as the layout of the protocol has it."""
    make_space(home.project / "spaces" / "review", "review", deps=["space:path:../base"])
    make_space(home.project / "spaces" / "base", "base")
    home.targets('targets.dev.compose = ["space:project:review"]\n')
    (home.registry / "linked").mkdir(parents=True)
    (home.registry / "linked" / "dev").symlink_to(make_space(home.project / "linked", "linked"))
    (home.path / "aside").symlink_to(home.project)
    path = f"space:path:{home.project}/spaces/review"
    specs: dict[str, Spec] = {
        "path": [path],
        "path by a link": [f"space:path:{home.path}/aside/spaces/review"],
        "path by ..": [f"space:path:{home.project}/spaces/base/../review"],
        "target": TargetSpec(name="dev", directory=str(home.project)),
        "registry": ["space:linked"],
    }
    return specs[kind]


CHANGES: dict[str, tuple[str, Sequence[str]]] = {
    "hooks": ("spaces/review/hooks/hooks.toml", ("path", "path by a link", "path by ..", "target")),
    "servers": ("spaces/review/mcp/mcp.json", ("path", "target")),
    "settings": ("spaces/review/space.toml", ("path", "target")),
    "a program": ("spaces/review/hooks/note.sh", ("path",)),
    "a dependency": ("spaces/base/hooks/hooks.toml", ("path", "target")),
    "the targets": ("asp-targets.toml", ("target",)),
    "a space of the registry": ("linked/hooks/hooks.toml", ("registry",)),
}
TEXTS = {
    "hooks.toml": 'schema = 1\n[[hook]]\nname = "x"\nevent = "stop"\ncommand = "id"\n',
    "mcp.json": '{"mcpServers":{"x":{"command":"id"}}}',
    "space.toml": 'schema = 1\nid = "review"\ndeps = ["space:path:../base"]\nsettings.permissions = "full"\n',
    "note.sh": "id\n",
    "asp-targets.toml": (
        'schema = 1\n[targets.dev]\ncompose = ["space:project:review"]\nharness.codex.permissions = "full"\n'
    ),
}


@pytest.mark.parametrize(
    ("change", "kind"), [(change, kind) for change, (_, kinds) in CHANGES.items() for kind in kinds]
)
@pytest.mark.fault(
    "turns",
    "An agent changes a space or a target that its turns use",
    "The next turn is refused until a user accepts the change",
)
def test_what_changed_where_an_agent_may_write_is_refused_until_it_is_accepted(
    home: Home, change: str, kind: str
) -> None:
    spec = spec_of(home, kind)
    before = turn(home, spec, home.project)
    assert turn(home, spec, home.project) == before
    file = CHANGES[change][0]
    write_files(home.project, {file: TEXTS[Path(file).name]})
    elsewhere = home.path.parent / "elsewhere"
    attempts: list[Callable[[], Environment]] = [
        lambda: turn(home, spec, home.project),
        lambda: turn(home, spec, elsewhere),
        lambda: turn(home, spec),  # one that is read-only, or as the change has it, full
        lambda: resolve(home.path, spec),
    ]
    for attempt in attempts:
        with pytest.raises(SpaceError) as refused:
            attempt()
        assert CHANGED in str(refused.value)
        name = "asp-targets.toml" if change == "the targets" else refused.value.reference
        assert str(refused.value).startswith(str(name))
    resolve(home.path, spec, accept=True)
    with pytest.raises(SpaceError):
        turn(home, spec, home.project)
    after = turn(home, spec, home.project, accept=True)
    assert turn(home, spec, home.project) == after


def test_all_that_would_be_accepted_together_is_named(home: Home) -> None:
    spec = spec_of(home, "target")
    turn(home, spec, home.project)
    for file in ("asp-targets.toml", "spaces/review/hooks/hooks.toml", "spaces/base/hooks/hooks.toml"):
        write_files(home.project, {file: TEXTS[Path(file).name]})
    with pytest.raises(SpaceError, match=f"^asp-targets.toml: {CHANGED}") as refused:
        turn(home, spec, home.project)
    assert str(refused.value).endswith(" Check these too: space:path:../base, space:project:review.")


def test_what_a_killed_writer_left_of_the_record_goes(home: Home) -> None:
    left = home.path / "state" / ".codex-adapter-0123456789abcdef.tmp"
    turn(home, spec_of(home, "path"), home.project)
    left.touch()
    turn(home, [f"space:path:{make_space(home.path.parent / 'new', 'new')}"])
    assert not left.exists()


def test_what_lies_where_no_agent_may_write_may_change_as_ever(home: Home) -> None:
    space = make_space(home.path.parent / "own", "own")
    for content in ("a", "b"):
        write_files(space, {"AGENTS.md": content})
        assert content in turn(home, [f"space:path:{space}"], home.project).instructions
    for content in ("c", "d"):
        write_files(space, {"AGENTS.md": content})
        assert content in turn(home, [f"space:path:{space}"]).instructions


def test_a_space_that_an_earlier_agent_could_have_made_is_not_taken_on_first_sight(home: Home) -> None:
    own = make_space(home.path.parent / "own", "own")
    turn(home, [f"space:path:{own}"], home.project)
    made = make_space(home.project / "made", "made")
    for roots in ((home.project,), ()):
        with pytest.raises(SpaceError, match=NEW):
            turn(home, [f"space:path:{made}"], *roots)
    with pytest.raises(SpaceError, match=NEW):
        resolve(home.path, [f"space:path:{own}", f"space:path:{made}"])
    turn(home, [f"space:path:{made}"], accept=True)
    turn(home, [f"space:path:{made}"])


def test_a_version_that_an_agent_publishes_is_not_taken(home: Home) -> None:
    home.publish("house", "1.0.0")
    turn(home, ["space:house@^1"], home.registry)
    home.publish("house", "1.1.0")
    assert turn(home, ["space:house@^1"], home.registry).spaces[0].version == "1.0.0"
    with pytest.raises(SpaceError, match=NEW):
        turn(home, ["space:house"], home.registry)


def test_a_link_that_an_agent_may_turn_elsewhere_counts(home: Home) -> None:
    outside = home.path.parent
    good, evil = make_space(outside / "good", "house"), make_space(outside / "evil", "house", more='settings.model="x"')
    (home.project / "link").symlink_to(good)
    spec = [f"space:path:{home.project}/link"]
    turn(home, spec, home.project)
    (home.project / "link").unlink()
    (home.project / "link").symlink_to(evil)
    with pytest.raises(SpaceError, match=CHANGED):
        turn(home, spec, home.project)


def test_a_space_in_which_the_agent_works_counts(home: Home) -> None:
    space = make_space(home.project, "house", files={"src/a": ""})
    spec = [f"space:path:{space}"]
    turn(home, spec, space / "src")
    write_files(space, {"src/a": "changed"})
    with pytest.raises(SpaceError, match=CHANGED):
        turn(home, spec, space / "src")


HOMES = ["the same", "above", "in the state", "by a link in it", "a link to it"]


@pytest.mark.parametrize("place", HOMES)
@pytest.mark.fault(
    "turns", "An agent may write in the state directory of `aspHome`", "The turn is refused and nothing is written"
)
def test_state_that_the_agent_may_change_is_refused(home: Home, place: str) -> None:
    own = make_space(home.path.parent / "own", "own")
    (home.path / "state").mkdir()
    (home.project / "link").symlink_to(home.path)
    (home.path.parent / "to-home").symlink_to(home.path)
    asp_home = home.project / "link" if place == "by a link in it" else home.path
    root = {
        "the same": home.path,
        "above": home.path.parent,
        "in the state": home.path / "state",
        "by a link in it": home.project,
        "a link to it": home.path.parent / "to-home",
    }[place]
    before = everything(home.path)
    with pytest.raises(
        SpaceError,
        match=r"^aspHome is in a directory where the agent may write, so the agent could change what later turns",
    ):
        prepare(asp_home, [f"space:path:{own}"], writable=lambda _: [str(root)])
    assert everything(home.path) == before


def test_a_directory_beside_the_state_is_fine(home: Home) -> None:
    own = make_space(home.path.parent / "own", "own")
    (home.path / "work").mkdir()
    turn(home, [f"space:path:{own}"], home.path / "work")


def test_a_record_that_cannot_be_read_is_refused(home: Home) -> None:
    spec = spec_of(home, "path")
    turn(home, spec, home.project)
    (home.path / "state" / "accepted.json").write_text("{}")
    with pytest.raises(SpaceError, match=r"state/accepted\.json"):
        turn(home, spec, home.project)


def test_a_directory_whose_path_is_not_utf_8_is_refused(home: Home) -> None:
    own = make_space(home.path.parent / "own", "own")
    odd = home.project / "\udcff"
    odd.mkdir()
    with pytest.raises(SpaceError, match="a directory in which the agent may write has a path that is not UTF-8"):
        turn(home, [f"space:path:{own}"], odd)


MOUNTED = """
import sys
from pathlib import Path
from codex_adapter.spaces.reach import Reach
root, other, beside = sys.argv[1:]
for reach in (Reach.into([root]), Reach([Path(root)])):
    print([reach.covers(path) for path in (other, f"{other}/below/x", f"{beside}/x")])
"""


MOUNTED_WITHIN = """
import sys
from codex_adapter.spaces.reach import Reach
project, *paths = sys.argv[1:]
print(list(map(Reach.into([project]).covers, paths)))
"""


@pytest.mark.parametrize("where", ["project", "project/below"])
def test_a_second_mount_of_a_directory_is_known(home: Home, where: str) -> None:
    for name in ("project/below", "mounted", "beside"):
        (home.path.parent / name).mkdir(exist_ok=True)
    other = home.path.parent / "mounted"
    source = home.path.parent / where
    mount = f'mount --bind "{source}" "{other}" && exec "$0" -c "$1" "$2" "$3" "$4"'
    words = ["unshare", "-rm", "sh", "-c", mount, sys.executable, MOUNTED, str(home.project), str(other)]
    words.append(str(home.path.parent / "beside"))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode and "unshare" in done.stderr:
        missing("namespaces")
    assert (done.stdout, done.stderr) == ("[True, True, False]\n" * 2, "")


@pytest.mark.parametrize("where", ["project", "project/below", "project/file"])
def test_a_mount_within_a_directory_is_known(home: Home, where: str) -> None:
    (home.project / "below").mkdir()
    (home.project / "file").touch()
    space = home.path.parent / "space"
    place = space / "deep" / "place"
    place.parent.mkdir(parents=True)
    place.touch() if where == "project/file" else place.mkdir()
    (home.path.parent / "beside").mkdir()
    mount = f'mount --bind "{home.path.parent / where}" "{place}" && exec "$0" -c "$1" "$2" "$3" "$4" "$5"'
    words = ["unshare", "-rm", "sh", "-c", mount, sys.executable, MOUNTED_WITHIN, str(home.project)]
    words += [str(space), str(space / "deep"), str(home.path.parent / "beside")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode and "unshare" in done.stderr:
        missing("namespaces")
    assert (done.stdout, done.stderr) == ("[True, True, False]\n", "")


@pytest.mark.parametrize("kind", ["space", "target"])
@pytest.mark.fault(
    "turns",
    "A file of a space is a hard link to a place where an agent may write",
    "Its changes are refused until a user accepts them",
)
def test_a_hard_link_to_where_an_agent_may_write_counts(home: Home, kind: str) -> None:
    own = make_space(home.path.parent / "own", "own", files={"AGENTS.md": "a"})
    file, spec = own / "AGENTS.md", [f"space:path:{own}"]
    asked: Spec = spec
    if kind == "target":
        file = own / "asp-targets.toml"
        file.write_text(f'schema = 1\ntargets.dev.compose = ["space:path:{make_space(own / "in", "in")}"]\n')
        asked = TargetSpec(name="dev", directory=str(own))
    (home.project / "name").hardlink_to(file)
    turn(home, asked)  # no agent could write
    turn(home, asked, home.project)
    with (home.project / "name").open("a") as other:
        other.write("\n# of the agent\n")
    for roots in ((home.project,), ()):
        with pytest.raises(SpaceError, match=CHANGED):
            turn(home, asked, *roots)
    turn(home, asked, home.project, accept=True)
    turn(home, asked, home.project)


def test_a_hard_link_that_an_agent_of_an_earlier_turn_could_have_changed_is_not_taken_on_first_sight(
    home: Home,
) -> None:
    turn(home, [f"space:path:{make_space(home.path.parent / 'first', 'first')}"], home.project)
    own = make_space(home.path.parent / "own", "own", files={"AGENTS.md": "a"})
    (home.project / "name").hardlink_to(own / "AGENTS.md")
    with pytest.raises(SpaceError, match="an agent could change it by its hard links"):
        turn(home, [f"space:path:{own}"])
    turn(home, [f"space:path:{own}"], accept=True)
    turn(home, [f"space:path:{own}"])


@pytest.mark.parametrize("kind", ["link", "hard link"])
@pytest.mark.fault(
    "turns",
    "The registry's `tags.toml` is a link to a place where an agent may write",
    "Its changes are refused until a user accepts them",
)
def test_tags_that_an_agent_can_turn_elsewhere_count(home: Home, kind: str) -> None:
    home.publish("house", "1.0.0")
    home.publish("house", "2.0.0")
    written = home.project / "tags.toml"
    written.write_text('schema = 1\n[tags]\nstable = "1.0.0"\n')
    tags = home.registry / "house" / "tags.toml"
    tags.symlink_to(written) if kind == "link" else tags.hardlink_to(written)
    other = make_space(home.path.parent / "other", "other")
    assert turn(home, ["space:house@stable"], home.project).spaces[0].version == "1.0.0"
    written.write_text('schema = 1\n[tags]\nstable = "2.0.0"\n')
    asked = ["space:house@stable", f"space:path:{other}"]  # of another spec, which has no lock
    with pytest.raises(SpaceError, match=f"^tags.toml of house: {CHANGED}"):
        turn(home, asked, home.project)
    assert turn(home, asked, home.project, accept=True).spaces[0].version == "2.0.0"


NAMES = st.sampled_from("abc")
PATHS = st.lists(NAMES | st.just(".."), min_size=1, max_size=4).map("/".join)
TREES = st.dictionaries(st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.none() | PATHS, max_size=6)


def planted(tree: dict[str, str | None], root: Path) -> None:
    """Make directories, and links where a path is given, of which some cannot be."""
    for path, target in tree.items():
        place = root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.mkdir() if target is None else place.symlink_to(target)
        except OSError:
            continue


def seen(path: Path) -> object:
    """What is found by a path: the directory, and the names below it."""
    try:
        return path.stat().st_ino, sorted(str(found.relative_to(path)) for found in path.rglob("*"))
    except OSError as error:
        return error.errno


@given(TREES, PATHS, PATHS)
def test_what_an_agent_can_make_another_is_covered(tree: dict[str, str | None], writable: str, path: str) -> None:
    with TemporaryDirectory() as directory:
        top = Path(directory).resolve() / "top" / "top"
        top.mkdir(parents=True)
        planted(tree, top)
        root = Path(os.path.realpath(top / writable))
        if not root.is_relative_to(top) or not root.is_dir():
            return
        try:
            covered = Reach.into([root]).covers(top / path)
        except SpaceError:  # links in a circle
            return
        before = seen(top / path)
        for entry in root.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        (root / "new").mkdir()
        assert covered or seen(top / path) == before
