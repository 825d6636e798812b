"""Test process limits, unusual file systems and other C libraries under a workspace."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import resource
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace, WorkspaceError, atomic_write

from ..needs import missing
from .outside import LIMIT, outside_tree, snapshot


def unsupported(*_: object) -> int:
    """A `renameat2` of a kernel, or of a file system, that does not know it."""
    ctypes.set_errno(errno.ENOSYS)
    return -1


@pytest.fixture(params=["absent", "unsupported"])
def _without_renameat2(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    library = SimpleNamespace() if request.param == "absent" else SimpleNamespace(renameat2=unsupported)
    monkeypatch.setattr(atomic_write, "_LIBC", library)


@pytest.mark.rule("H4")
@pytest.mark.usefixtures("_without_renameat2")
@pytest.mark.fault(
    "workspace", "The system cannot rename without replacing", "The adapter creates new files with a hard link"
)
def test_new_files_are_made_without_replacing_where_rename_cannot(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        (tmp_path / "theirs").write_bytes(b"theirs")
        yield b"ours"

    with Workspace(tmp_path, agents=known_places()) as workspace:
        assert workspace.write("a", [b"ours"], overwrite=False, limit=LIMIT) == 4
        assert workspace.read("a", limit=LIMIT) == b"ours"
        with pytest.raises(WorkspaceError) as caught:
            workspace.write("theirs", pieces(), overwrite=False, limit=LIMIT)
    assert caught.value.code == "exists"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"ours", "theirs": b"theirs"}


@pytest.mark.rule("H1", "H4")
@pytest.mark.fault(
    "workspace",
    "A link to outside has the name of the temporary file",
    "The call raises an error and does not follow the link",
)
def test_a_guessed_temporary_name_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda length: "0" * 2 * length)
    outside, root = outside_tree(tmp_path / "outside"), tmp_path / "root"
    root.mkdir()
    guessed = f".codex-adapter-{hashlib.sha256(b'a').hexdigest()[:16]}-{'0' * 16}"
    (root / guessed).symlink_to(outside / "secret.txt")
    before = snapshot(outside)
    with Workspace(root, agents=known_places()) as workspace, pytest.raises(WorkspaceError):
        workspace.write("a", [b"from the agent"], overwrite=True, limit=LIMIT)
    assert snapshot(outside) == before
    assert not (root / "a").exists()


@pytest.mark.rule("H4", "H6")
@pytest.mark.fault(
    "workspace",
    "A file exceeds the file size limit of the process",
    "The call raises `too_large` and leaves no partial file",
)
def test_a_file_over_the_limit_of_the_process_is_too_large(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        with Workspace(tmp_path, agents=known_places()) as workspace, pytest.raises(WorkspaceError) as caught:
            workspace.write("a", [bytes(4000)] * 3, overwrite=False, limit=LIMIT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (caught.value.code, caught.value.system) == ("too_large", False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.rule("H7")
@pytest.mark.fault(
    "workspace", "A file contains more than its reported size", "The adapter reads to its end, but not beyond the limit"
)
def test_a_file_that_is_larger_than_it_says_is_read_to_its_end_or_limit() -> None:
    status = Path("/proc/self/limits")
    if not status.is_file() or status.stat().st_size:
        missing("system")
    with Workspace(status.parent, agents=known_places()) as workspace:
        assert workspace.read("limits", limit=LIMIT).startswith(b"Limit ")
        for call in (workspace.read, workspace.digest):
            with pytest.raises(WorkspaceError) as caught:
                call("limits", limit=100)
            assert caught.value.code == "too_large"
        size = len(workspace.read("limits", limit=LIMIT))
        assert len(workspace.read("limits", limit=size)) == size
