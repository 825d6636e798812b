"""Test that whoever writes to the temporary directory leads no removal to another place."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from codex_adapter.own_directories import make_private, remove_tree
from codex_adapter.runtime.containment.containment import Level
from codex_adapter.runtime.containment.guard_processes import remove
from codex_adapter.runtime.containment.marks import directory_name, new_mark
from codex_adapter.runtime.containment.orphans import end_orphans
from codex_adapter.runtime.private_file import private_directory, private_file
from codex_adapter.testing import Hang

from ..rows import rows
from ..waiting import until
from .agents import WHOLE_TURN
from .survivors import Survivors
from .test_containment_limits import adapter

pytestmark = pytest.mark.rule("S10", "N5")

FILE = "output-schema.json"


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    """A directory of the user; nothing in it may change."""
    target = tmp_path / "target"
    (target / "www" / "deep").mkdir(parents=True)
    (target / FILE).write_text("precious")
    (target / "www" / "deep" / "file").write_text("precious")
    (target / "www" / "deep").chmod(0o555)
    (target / "www").chmod(0o2775)
    target.chmod(0o755)
    before = state_of(target)
    yield target
    assert state_of(target) == before


def state_of(target: Path) -> dict[str, tuple[int, bytes]]:
    """Modes and contents of all that is in a directory."""
    paths = [target, *sorted(target.rglob("*"))]
    return {str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in paths}


async def a_next_run() -> None:
    async with private_file(new_mark(), FILE, b"{}"):
        pass


async def a_next_run_with_a_directory() -> None:
    async with private_directory(new_mark()):
        pass


async def an_end_of_orphans() -> None:
    await end_orphans()


def directory_of_others(path: Path, target: Path) -> None:
    path.mkdir(0o755)
    path.chmod(0o755)
    (path / "link").symlink_to(target)


def directory_of_another_user(path: Path, _target: Path) -> None:
    path.mkdir(0o700)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        path.chmod(0o770)  # an ordinary user can give nothing away


ENTRIES: dict[str, Callable[[Path, Path], None]] = {
    "a link to a directory": lambda path, target: path.symlink_to(target),
    "a link to the root": lambda path, _: path.symlink_to("/"),
    "a link to a file": lambda path, target: path.symlink_to(target / FILE),
    "a link to nothing": lambda path, target: path.symlink_to(target / "nothing"),
    "a link to itself": lambda path, _: path.symlink_to(path),
    "a file": lambda path, _: path.touch(),
    "a hard link": lambda path, target: path.hardlink_to(target / FILE),
    "a pipe": lambda path, _: os.mkfifo(path),
    "a directory that others may enter": directory_of_others,
    "a directory of another user": directory_of_another_user,
}


@rows("entry", ENTRIES.values(), ids=ENTRIES.keys())
@pytest.mark.fault(
    "environment",
    "Another program makes an entry of the temporary directory with the name of a dead run's directory",
    "Only a directory of this user alone is removed; no link is followed, and no mode changed",
)
@pytest.mark.parametrize("clean", [a_next_run, a_next_run_with_a_directory, an_end_of_orphans])
async def test_a_name_alone_makes_nothing_ours(
    entry: Callable[[Path, Path], None], clean: Callable[[], object], temporary: Path, target: Path
) -> None:
    path = temporary / directory_name(new_mark().replace("-", "-9", 1))
    entry(path, target)
    before = path.lstat()
    await clean()  # type: ignore[misc]
    assert (path.lstat().st_mode, path.lstat().st_ino) == (before.st_mode, before.st_ino)
    if stat.S_ISDIR(before.st_mode):
        shutil.rmtree(path)
    else:
        path.unlink()


@pytest.mark.fault(
    "environment",
    "An agent replaces its temporary directory by a link",
    "Nothing is removed or changed at the target of the link",
)
@pytest.mark.parametrize("make", [private_directory, lambda mark: private_file(mark, FILE, b"{}")])
async def test_a_link_in_the_place_of_a_living_runs_directory_leads_nowhere(
    make: Callable[[str], object], temporary: Path, target: Path
) -> None:
    async with make(new_mark()) as path:  # type: ignore[attr-defined]
        directory = Path(path) if Path(path).is_dir() else Path(path).parent
        directory.rename(temporary / "moved")
        directory.symlink_to(target)
    assert not directory.is_symlink()


def test_a_link_in_the_place_of_a_killed_adapters_directory_leads_its_guard_nowhere(
    tmp_path: Path, temporary: Path, target: Path, guard_level: Level, survivors: Survivors
) -> None:
    with adapter([*WHOLE_TURN[:2], Hang()], survivors, tmp_path, allowed=[guard_level], schema=True) as started:
        [file] = temporary.glob(f"codex-adapter-*/{FILE}")
        file.parent.rename(temporary / "moved")
        file.parent.symlink_to(target)
        started.process.kill()
        assert survivors.soon() == []
    until(lambda: not file.parent.is_symlink())


def test_a_guard_removes_a_directory_and_no_target_of_a_link(temporary: Path, target: Path) -> None:
    (temporary / "link").symlink_to(target)
    remove(str(temporary / "link" / FILE))
    assert list(temporary.iterdir()) == []


@pytest.mark.rule("Z10")
def test_links_and_closed_directories_within_lead_nowhere(temporary: Path, target: Path) -> None:
    own = temporary / "own"
    (own / "a" / "b").mkdir(parents=True)
    for place in (own, own / "a", own / "a" / "b"):
        (place / "link").symlink_to(target)
        (place / "file").symlink_to(target / FILE)
    for place in (own / "a" / "b", own / "a", own):
        place.chmod(0o000)
    remove_tree(own)
    assert list(temporary.iterdir()) == []


@pytest.mark.rule("Z10")
def test_what_can_be_removed_is_removed_before_an_error_is_raised(
    temporary: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (temporary / "own" / name).mkdir(parents=True)
        (temporary / "own" / name / "file").touch()
    rmdir = os.rmdir

    def refusing(name: str, *, dir_fd: int | None = None) -> None:
        if name == "b":
            raise PermissionError
        rmdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", refusing)
    with pytest.raises(PermissionError):
        remove_tree(temporary / "own")
    assert [path.name for path in (temporary / "own").iterdir()] == ["b"]


@pytest.mark.rule("Z9")
def test_a_directory_is_made_for_its_owner_alone_and_a_link_is_none(temporary: Path, target: Path) -> None:
    (temporary / "link").symlink_to(target)
    (temporary / "nothing").symlink_to(temporary / "nothing else")
    make_private(temporary / "link")
    with pytest.raises(FileExistsError):
        make_private(temporary / "nothing")
    previous = os.umask(0o777)
    with suppress(FileExistsError):
        make_private(temporary / "new")
    os.umask(previous)
    assert stat.S_IMODE((temporary / "new").stat().st_mode) == 0o700
