"""Test broken and hostile directories: they yield an environment or a `SpaceError`."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_adapter.spaces import SpaceError, TargetSpec, prepare, resolve

from .spaces_stage import Home, make_space, write_files

GOOD = {
    "space.toml": b'schema = 1\nid = "a"\nversion = "1.0.0"\ndeps = ["space:b@^1"]\n[settings.env]\nA = "x"\n',
    "AGENTS.md": "Be brief. ü\n".encode(),
    "skills/s/SKILL.md": b"---\nname: s\ndescription: >\n  one\n---\n",
    "hooks/hooks.toml": b'schema = 1\n[[hook]]\nname = "h"\nevent = "stop"\ncommand = "\'${SPACE}"\n',
    "mcp/mcp.json": b'{"mcpServers":{"m":{"command":"x","args":["${SPACE}"]}}}',
    "../tags.toml": b'schema = 1\n[tags]\nt = "1.0.0"\n',
    "../../../../project/asp-targets.toml": b'schema = 1\n[targets.t]\ncompose = ["space:a@t", "space:path:."]\n',
}
KINDS = st.sampled_from(["fifo", "link", "loop", "directory", "nothing", "unnameable"])
BYTES = st.sampled_from(
    [b"\0", b"\xff", b"'", b'"', b"[", b"]", b"{", b"=", b".", b"\n", b"-", b"9" * 5000, b"\\ud800", b""]
)


def attempt(home: Home) -> None:
    for spec in (["space:a@t"], ["space:a"], TargetSpec(name="t", directory=str(home.project))):
        for make in (resolve, prepare):
            try:
                make(home.path, spec, "codex")
            except SpaceError as error:
                said = str(error)
            else:
                continue
            assert said.isprintable()


@contextmanager
def good_home() -> Iterator[tuple[Home, Path]]:
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        home = Home(Path(directory))
        place = home.registry / "a" / "1.0.0"
        home.publish("b", "1.0.0")
        place.mkdir(parents=True)
        write_files(place, GOOD)
        yield home, place


@pytest.mark.rule("Z1", "Z2", "Z3", "Z4")
@settings(max_examples=60)
@given(st.sampled_from(sorted(GOOD)), st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3), BYTES), max_size=3))
def test_files_with_anything_in_them(path: str, edits: list[tuple[int, int, bytes]]) -> None:
    with good_home() as (home, place):
        content = GOOD[path]
        for start, length, new in edits:
            content = content[:start] + new + content[start + length :]
        write_files(place, {path: content})
        attempt(home)


@pytest.mark.rule("Z7", "Z9")
@settings(max_examples=60)
@given(st.sampled_from([*sorted(GOOD), "", "..", "../..", "bin", "../../../state", "../../../state/store"]), KINDS)
def test_anything_in_the_place_of_anything(path: str, kind: str) -> None:
    with good_home() as (home, place):
        it = Path(os.path.normpath(place / path))
        if it.is_dir():
            shutil.rmtree(it)
        it.parent.mkdir(parents=True, exist_ok=True)
        it.unlink(missing_ok=True)
        if kind == "fifo":
            os.mkfifo(it)
        elif kind == "link":
            elsewhere = home.path.parent / "elsewhere"
            write_files(elsewhere, {"precious": "x"})
            it.symlink_to(elsewhere)
        elif kind == "loop":
            it.symlink_to(it.name)
        elif kind == "directory":
            it.mkdir(parents=True)
        elif kind == "unnameable":
            it.mkdir(parents=True)
            Path(os.fsdecode(bytes(it) + b"/\xff")).touch()
        attempt(home)
        if kind == "link":
            assert [path.name for path in elsewhere.iterdir()] == ["precious"]


@pytest.mark.rule("Z5")
@settings(max_examples=60)
@given(st.text(max_size=20) | st.sampled_from(["/\0", "\ud800", "space:path:/\ud800", "space:path:/dev/zero", "/proc"]))
def test_anything_in_the_place_of_a_reference_a_target_or_a_directory(text: str) -> None:
    with good_home() as (home, _):
        for make in (resolve, prepare):
            for spec in ([text], ["space:b", text], TargetSpec(name=text, directory=str(home.project))):
                with pytest.raises(SpaceError):
                    make(home.path, spec, text)
            with pytest.raises(SpaceError):
                make(home.path, TargetSpec(name="t", directory=f"/{text}"), text)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the right of root to read everything."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.rule("Z7", "Z9")
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("space.toml", "space.toml cannot be read (Permission denied)"),
        ("skills", "skills cannot be read (Permission denied)"),
        ("", "its directory cannot be read (Permission denied)"),
        ("..", "its directory in the registry cannot be read (Permission denied)"),
        ("../tags.toml", "tags.toml cannot be read (Permission denied)"),
    ],
)
def test_what_may_not_be_read_is_named(path: str, says: str) -> None:
    with good_home() as (home, place):
        it = Path(os.path.normpath(place / path))
        mode = it.stat().st_mode
        it.chmod(0)
        try:
            with as_nobody(), pytest.raises(SpaceError) as caught:
                resolve(home.path, ["space:a@t"])
        finally:
            it.chmod(mode)
        assert caught.value.problem == says


@pytest.mark.rule("Z9")
def test_a_home_that_may_not_be_written_to_is_named() -> None:
    with good_home() as (home, _):
        home.path.chmod(0o555)
        with as_nobody():
            resolve(home.path, ["space:a"])
            with pytest.raises(SpaceError, match=r"aspHome: state/ cannot be written to \(Permission denied\)"):
                prepare(home.path, ["space:a"])
        home.path.chmod(0o755)


@pytest.mark.rule("Z7")
@pytest.mark.parametrize("path", ["AGENTS.md", "skills"])
@pytest.mark.parametrize("kind", ["link", "fifo"])
@pytest.mark.fault(
    "turns",
    "A link or a FIFO replaces a file of a space at its opening",
    "The adapter neither follows the link nor waits for the FIFO",
)
def test_what_is_swapped_just_before_it_is_opened_is_neither_followed_nor_waited_for(
    home: Home, path: str, kind: str
) -> None:
    skill: dict[str, str | bytes] = {"AGENTS.md": "x", "skills/s/SKILL.md": GOOD["skills/s/SKILL.md"]}
    place = make_space(home.project / "a", "a", files=skill)
    elsewhere = make_space(home.project / "b", "b", files=skill)

    def swap(frame: FrameType, event: str, function: object) -> None:
        if event == "c_call" and function is os.open and frame.f_locals.get("path") == path:
            (place / path).rename(home.project / "c")
            os.mkfifo(place / path) if kind == "fifo" else (place / path).symlink_to(elsewhere / path)

    sys.setprofile(swap)
    try:
        with pytest.raises(SpaceError, match=f": {path} (cannot be read|is not a regular file)"):
            resolve(home.path, [f"space:path:{place}"])
    finally:
        sys.setprofile(None)
    assert (home.project / "c").exists()


@pytest.mark.rule("Z7")
@pytest.mark.fault(
    "turns",
    "A space changes continuously while the adapter reads it",
    "The adapter returns one consistent state, or an error",
)
def test_a_directory_that_changes_all_the_time_gives_one_of_its_states_or_an_error(home: Home) -> None:
    place = make_space(home.project / "a", "a", files={"AGENTS.md": "one"})
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            (place / "AGENTS.md").unlink()
            (place / "AGENTS.md").symlink_to("/etc/passwd")
            (place / "AGENTS.md").unlink()
            (place / "AGENTS.md").mkdir()
            (place / "AGENTS.md").rmdir()
            (place / ".new").write_bytes(b"two" * 100_000)
            (place / ".new").rename(place / "AGENTS.md")

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(60):
            try:
                found = prepare(home.path, [f"space:path:{place}"])
            except SpaceError:
                continue
            assert found.instructions.removeprefix("# a\n\n") in ("", "one\n", "two" * 100_000 + "\n")
    finally:
        stop.set()
        changing.join()
