"""Test how a workspace reads, writes, edits and deletes files."""

from __future__ import annotations

import fcntl
import hashlib
import os
import resource
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace, WorkspaceError

from ..needs import missing, without
from .outside import LIMIT, outside_tree, snapshot

MEGABYTE = 1 << 20


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace(root, agents=known_places()) as workspace:
        yield workspace


def failure(call: Callable[[], object]) -> WorkspaceError:
    with pytest.raises(WorkspaceError) as caught:
        call()
    return caught.value


@pytest.mark.rule("H4")
def test_what_is_written_is_read_and_its_directories_are_made(workspace: Workspace, root: Path) -> None:
    assert workspace.write("a/b/c", [b"one ", b"", b"two"], overwrite=False, limit=7) == 7
    assert workspace.read("a/b/c", limit=7) == b"one two"
    assert workspace.digest("a/b/c", limit=7) == hashlib.sha256(b"one two").digest()
    assert [path.name for path in root.rglob("*")] == ["a", "b", "c"]


@pytest.mark.rule("H4")
def test_a_file_of_no_pieces_is_empty(workspace: Workspace) -> None:
    assert workspace.write("a", [], overwrite=False, limit=0) == 0
    assert workspace.read("a", limit=0) == b""


@pytest.mark.rule("H4")
def test_an_edit_replaces_the_content(workspace: Workspace) -> None:
    workspace.write("a", [b"old"], overwrite=False, limit=LIMIT)
    workspace.replace("a", lambda content: content + b" and new", limit=LIMIT)
    assert workspace.read("a", limit=LIMIT) == b"old and new"


@pytest.mark.rule("H4")
def test_an_edit_through_a_link_inside_changes_its_target_and_not_the_link(workspace: Workspace, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/real").write_bytes(b"old")
    (root / "link").symlink_to("d/real")
    workspace.replace("link", bytes.upper, limit=LIMIT)
    assert (root / "link").is_symlink()
    assert (root / "d/real").read_bytes() == b"OLD"


@pytest.mark.rule("H4")
def test_without_overwrite_a_file_that_appears_during_the_write_stays(workspace: Workspace, root: Path) -> None:
    def pieces() -> Iterator[bytes]:
        (root / "a").write_bytes(b"theirs")
        yield b"ours"

    assert failure(lambda: workspace.write("a", pieces(), overwrite=False, limit=LIMIT)).code == "exists"
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"a": b"theirs"}


@pytest.mark.rule("H4")
@pytest.mark.parametrize("path", ["old", "new", "made/and/made/new"])
@pytest.mark.parametrize("exception", [RuntimeError, OSError, KeyboardInterrupt, WorkspaceError])
def test_what_the_caller_raises_passes_through_and_leaves_the_tree_as_it_was(
    workspace: Workspace, root: Path, path: str, exception: type[BaseException]
) -> None:
    (root / "old").write_bytes(b"old")
    before = snapshot(root)
    raised = exception("denied", "text")

    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise raised

    with pytest.raises(exception) as caught:
        workspace.write(path, pieces(), overwrite=True, limit=LIMIT)
    assert caught.value is raised

    def change(content: bytes) -> bytes:
        raise raised

    with pytest.raises(exception) as caught:
        workspace.replace("old", change, limit=LIMIT)
    assert caught.value is raised
    assert untimed(snapshot(root)) == untimed(before)


def untimed(tree: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    """Directories are touched by a temporary file that came and went; files are not."""
    return {name: (inode, mode, content) for name, (inode, mode, _, content) in tree.items()}


@pytest.mark.rule("H4")
def test_directories_that_others_have_used_meanwhile_stay(workspace: Workspace, root: Path) -> None:
    def pieces() -> Iterator[bytes]:
        (root / "a/theirs").touch()
        yield b"too long"

    assert failure(lambda: workspace.write("a/b/c", pieces(), overwrite=False, limit=1)).code == "too_large"
    assert sorted(path.name for path in root.rglob("*")) == ["a", "theirs"]


@pytest.mark.rule("H7")
def test_limits_hold_for_reading_writing_editing_and_digests(workspace: Workspace, root: Path) -> None:
    (root / "a").write_bytes(b"12345")
    calls: list[Callable[[], object]] = [
        lambda: workspace.read("a", limit=4),
        lambda: workspace.digest("a", limit=4),
        lambda: workspace.replace("a", lambda content: content, limit=4),
        lambda: workspace.replace("a", lambda content: content + b"6", limit=5),
        lambda: workspace.write("a", [b"123", b"45"], overwrite=True, limit=4),
    ]
    assert [failure(call).code for call in calls] == ["too_large"] * 5
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"a": b"12345"}
    assert workspace.read("a", limit=5) == b"12345"


@pytest.mark.rule("H7")
@pytest.mark.fault(
    "workspace", "A file reports a size of 1 TB", "Access is refused because of the reported size; the file is not read"
)
def test_a_file_that_says_that_it_is_too_large_is_not_read(workspace: Workspace, root: Path) -> None:
    (root / "a").touch()
    os.truncate(root / "a", 1 << 40)
    assert failure(lambda: workspace.read("a", limit=LIMIT)).code == "too_large"


@pytest.mark.rule("H7")
def test_ten_megabytes_are_held_once_when_read_and_piece_by_piece_when_written(workspace: Workspace) -> None:
    tracemalloc.start()
    try:
        workspace.write("a", (bytes(MEGABYTE) for _ in range(10)), overwrite=False, limit=10 * MEGABYTE)
        writing = tracemalloc.get_traced_memory()[1]
        workspace.digest("a", limit=10 * MEGABYTE)
        digesting = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        content = workspace.read("a", limit=10 * MEGABYTE)
        reading = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(content) == 10 * MEGABYTE
    assert writing < 3 * MEGABYTE
    assert digesting < 3 * MEGABYTE
    assert reading < 11 * MEGABYTE


@pytest.mark.rule("H5")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_new_files_and_directories_have_the_bits_that_the_umask_leaves(
    workspace: Workspace, root: Path, mask: int
) -> None:
    before = os.umask(mask)
    try:
        workspace.write("d/a", [b""], overwrite=False, limit=LIMIT)
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o777 & ~mask
    assert stat.S_IMODE((root / "d/a").stat().st_mode) == 0o666 & ~mask


@pytest.mark.rule("H5")
@pytest.mark.parametrize(("old", "new"), [(0o600, 0o600), (0o666, 0o666), (0o755, 0o755), (0o7711, 0o711), (0, 0)])
def test_a_replaced_file_keeps_its_permission_bits_alone(workspace: Workspace, root: Path, old: int, new: int) -> None:
    file = root / "a"
    file.touch()
    file.chmod(old)

    def pieces() -> Iterator[bytes]:
        (temporary,) = [path for path in root.iterdir() if path != file]
        assert stat.S_IMODE(temporary.stat().st_mode) & ~new == 0
        yield b"new"

    workspace.write("a", pieces(), overwrite=True, limit=LIMIT)
    assert stat.S_IMODE(file.stat().st_mode) == new


@pytest.mark.rule("H3")
@pytest.mark.fault(
    "workspace", "The link to a file outside is removed just after it was opened", "The file outside is not read"
)
@pytest.mark.parametrize("then", ["nothing", "another file", "the same link again"])
def test_a_hard_link_that_is_removed_once_it_is_open_is_not_read(
    root: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    outside = root.parent / "secret.txt"
    outside.write_bytes(b"secret")
    link = root / "link.txt"
    link.hardlink_to(outside)
    open_it, stat_it = os.open, os.stat

    def open_and_remove(path: object, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        descriptor = open_it(path, flags, mode, dir_fd=dir_fd)  # type: ignore[arg-type]
        if path == b"link.txt" and link.exists() and os.fstat(descriptor).st_nlink == 2:
            link.unlink()
            if then == "another file":
                link.write_bytes(b"mine")
        return descriptor

    def link_and_look(path: object, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        if path == b"link.txt" and then == "the same link again" and not link.exists():
            link.hardlink_to(outside)
        return stat_it(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)  # type: ignore[arg-type]

    with Workspace(root, agents=known_places()) as workspace:
        monkeypatch.setattr(os, "open", open_and_remove)
        monkeypatch.setattr(os, "stat", link_and_look)
        if then == "another file":
            assert workspace.read("link.txt", limit=100) == b"mine"
        else:
            with pytest.raises(WorkspaceError) as caught:
                workspace.read("link.txt", limit=100)
            assert caught.value.code in ("not_found", "hard_linked")


@pytest.mark.rule("H3")
def test_files_with_several_hard_links_are_read_where_that_is_allowed(root: Path) -> None:
    (root / "a").write_bytes(b"shared")
    (root / "b").hardlink_to(root / "a")
    with Workspace(root, hard_links=True, agents=known_places()) as workspace:
        assert workspace.read("a", limit=LIMIT) == b"shared"
        workspace.replace("a", bytes.upper, limit=LIMIT)
        assert [entry.path for entry in workspace.entries(limit=9).files] == ["a", "b"]
    assert [(root / name).read_bytes() for name in "ab"] == [b"SHARED", b"shared"]


@pytest.mark.rule("H1")
@pytest.mark.fault(
    "workspace", "A link to outside replaces the root", "The operation uses the directory that is already open"
)
def test_what_takes_the_place_of_the_root_is_never_looked_at(workspace: Workspace, root: Path, tmp_path: Path) -> None:
    outside = outside_tree(tmp_path / "outside")
    before = snapshot(outside)
    root.rename(tmp_path / "moved")
    root.symlink_to("outside")
    assert failure(lambda: workspace.read("secret.txt", limit=LIMIT)).code == "not_found"
    workspace.write("secret.txt", [b"ours"], overwrite=True, limit=LIMIT)
    assert (tmp_path / "moved/secret.txt").read_bytes() == b"ours"
    assert snapshot(outside) == before


@pytest.mark.rule("H1", "H4")
@pytest.mark.fault(
    "workspace",
    "A process moves the directory during a write and puts a link to outside in its place",
    "The file stays in the original directory",
)
def test_a_directory_that_is_moved_away_in_mid_write_takes_its_file_with_it(
    workspace: Workspace, root: Path, tmp_path: Path
) -> None:
    outside = outside_tree(tmp_path / "outside")
    before = snapshot(outside)

    def pieces() -> Iterator[bytes]:
        (root / "d").rename(root / "moved")
        (root / "d").symlink_to("../outside")
        yield b"ours"

    workspace.write("d/secret.txt", pieces(), overwrite=True, limit=LIMIT)
    assert (root / "moved/secret.txt").read_bytes() == b"ours"
    assert snapshot(outside) == before


@pytest.mark.rule("H4", "H6")
@pytest.mark.fault(
    "workspace",
    "A process removes a file's directory during a write",
    "The call raises `not_found`, not a system error",
)
def test_a_directory_that_is_removed_in_mid_write_is_not_found(workspace: Workspace, root: Path) -> None:
    def pieces() -> Iterator[bytes]:
        for each in (root / "d").iterdir():
            each.unlink()
        (root / "d").rmdir()
        yield b"ours"

    error = failure(lambda: workspace.write("d/a", pieces(), overwrite=False, limit=LIMIT))
    assert (error.code, error.system) == ("not_found", False)


@pytest.mark.rule("H6")
@pytest.mark.fault("workspace", "The root is removed", "The call raises a system error")
@pytest.mark.parametrize("path", ["a", "d/a"])
def test_a_root_that_is_gone_is_a_failure_of_the_system(workspace: Workspace, root: Path, path: str) -> None:
    root.rmdir()
    calls: list[Callable[[], object]] = [
        lambda: workspace.read(path, limit=LIMIT),
        lambda: workspace.digest(path, limit=LIMIT),
        lambda: workspace.write(path, [b""], overwrite=True, limit=LIMIT),
        lambda: workspace.delete(path),
    ]
    errors = [failure(call) for call in calls]
    assert [(error.code, error.system) for error in errors] == [("gone", True)] * len(calls)


@pytest.mark.rule("H6")
def test_a_closed_workspace_says_so_and_can_be_closed_again(workspace: Workspace) -> None:
    workspace.close()
    workspace.close()
    assert failure(lambda: workspace.read("a", limit=LIMIT)).code == "gone"


@pytest.mark.rule("H6")
@pytest.mark.parametrize(("name", "code"), [("absent", "not_found"), ("file", "not_a_directory")])
def test_a_root_that_is_no_directory_is_refused(tmp_path: Path, name: str, code: str) -> None:
    (tmp_path / "file").touch()
    assert failure(lambda: Workspace(tmp_path / name, agents=known_places())).code == code


@pytest.mark.rule("H6")
def test_a_workspace_that_cannot_be_opened_for_want_of_descriptors_loses_none(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open(root, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 1, limits[1]))  # Room for the root, not to ask for its mount.
    try:
        error = failure(lambda: Workspace(root, agents=known_places()))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert error.code == "exhausted"
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.rule("H6")
def test_common_errors_are_said_in_words_for_an_agent(workspace: Workspace, root: Path) -> None:
    (root / "d").mkdir()
    workspace.write("a", [b""], overwrite=False, limit=LIMIT)
    assert failure(lambda: workspace.read("b", limit=LIMIT)).text == "File not found"
    assert failure(lambda: workspace.read("x/b", limit=LIMIT)).text == "File not found"
    assert failure(lambda: workspace.write("a", [], overwrite=False, limit=LIMIT)).text == "File already exists"
    assert failure(lambda: workspace.delete("d")).text == "Path is a directory. Only files can be deleted."


@pytest.mark.rule("H6")
@pytest.mark.fault(
    "workspace", "The process has no file descriptors left", "The call raises a system error and leaks no descriptor"
)
def test_too_many_open_files_are_a_failure_of_the_system(workspace: Workspace) -> None:
    workspace.write("a/b", [b"x"], overwrite=False, limit=LIMIT)
    open_before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    seen = set()
    try:
        for room in range(open_before - 4, open_before + 4):
            resource.setrlimit(resource.RLIMIT_NOFILE, (room, limits[1]))
            for call in (workspace.read, workspace.digest):
                try:
                    call("a/b", limit=LIMIT)
                except WorkspaceError as error:
                    seen.add((error.code, error.system))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert seen == {("exhausted", True)}
    assert len(os.listdir("/proc/self/fd")) == open_before  # noqa: PTH208


@pytest.mark.rule("H6", "H4")
def test_no_descriptor_is_lost_by_any_end(workspace: Workspace, root: Path) -> None:
    (root / "l").symlink_to("../x")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for path in ("a/b/c", "l", "a", "a/b/c/d", ""):
        for limit in (0, 9):
            for call in (workspace.read, workspace.digest):
                try_it(lambda call=call, path=path, limit=limit: call(path, limit=limit))  # type: ignore[misc]
            try_it(lambda path=path, limit=limit: workspace.write(path, [b"12"], overwrite=True, limit=limit))  # type: ignore[misc]
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def try_it(call: Callable[[], object]) -> None:
    try:
        call()
    except WorkspaceError:
        return


@pytest.mark.rule("H3")
@pytest.mark.fault("workspace", "Another process holds a lease on a file", "Access is refused at once, without waiting")
def test_a_lease_on_a_file_makes_nobody_wait(workspace: Workspace, root: Path) -> None:
    (root / "a").write_bytes(b"x")
    descriptor = os.open(root / "a", os.O_RDWR)
    try:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(root / "a")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    finally:
        os.close(descriptor)
    with holder:
        assert holder.stdout is not None
        if holder.stdout.readline() != b"held\n":
            missing("system")
        error = failure(lambda: workspace.read("a", limit=LIMIT))
        holder.kill()
    assert (error.code, error.system) == ("denied", False)


HOLD = f"""
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETLEASE, {fcntl.F_WRLCK})
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.rule("H1", "H6")
@without("root", os.geteuid() != 0)
def test_what_permissions_forbid_is_denied_and_what_they_allow_is_done(root: Path, tmp_path: Path) -> None:
    for parent in (root, *root.parents):
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    (root / "passable/d").mkdir(parents=True)
    (root / "passable/d/a").write_bytes(b"x")
    (root / "passable").chmod(0o711)
    (root / "closed").mkdir(0o700)
    (root / "unreadable").touch(0o600)
    os.seteuid(65534)
    try:
        with Workspace(root, agents=known_places()) as workspace:
            assert workspace.read("passable/d/a", limit=LIMIT) == b"x"
            calls: list[Callable[[], object]] = [
                lambda: workspace.read("closed/a", limit=LIMIT),
                lambda: workspace.read("unreadable", limit=LIMIT),
                lambda: workspace.write("passable/new", [], overwrite=False, limit=LIMIT),
                lambda: workspace.write("passable/d/a", [], overwrite=True, limit=LIMIT),
                lambda: workspace.delete("passable/d/a"),
            ]
            errors = [failure(call) for call in calls]
    finally:
        os.seteuid(0)
    assert [(error.code, error.system) for error in errors] == [("denied", False)] * len(calls)


@pytest.mark.rule("H1")
def test_a_name_is_there_whatever_bears_it(workspace: Workspace, root: Path) -> None:
    (root / "d").mkdir()
    (root / "file").write_text(".")
    (root / "nowhere").symlink_to("gone")
    (root / "out").symlink_to("/")
    assert [name for name in ("d", "file", "nowhere", "out", "no", "d/no", "no/no") if workspace.has(name)] == [
        "d",
        "file",
        "nowhere",
        "out",
    ]
    with pytest.raises(WorkspaceError) as refused:
        workspace.has("out/etc")
    assert refused.value.code == "outside"
