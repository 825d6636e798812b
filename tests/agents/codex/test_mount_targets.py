"""Test that a run removes only the empty directories that its sandbox created as mount targets."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import trio

from codex_adapter.agents.codex.extensions import ExecOptions
from codex_adapter.agents.codex.mount_targets import MOUNT_TARGETS, mount_roots
from codex_adapter.runtime import mount_notes
from codex_adapter.runtime.containment.orphans import end_orphans
from codex_adapter.runtime.mount_targets import mount_targets_removed

from ...needs import missing
from ...waiting import until

pytestmark = pytest.mark.rule("K8")


def removed(options: ExecOptions, env: Mapping[str, str], cwd: str) -> AbstractAsyncContextManager[None]:
    return mount_targets_removed(mount_roots(options, env, cwd), MOUNT_TARGETS)


NAMES = [".agents", ".aws", ".codex", ".git"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary directory of the adapter."""
    path = tmp_path / "notes"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    (tmp_path / "tmp").mkdir()
    return {"TMPDIR": str(tmp_path / "tmp")}


def make(directory: Path, *names: str) -> None:
    for name in names:
        (directory / name).mkdir()


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def test_what_a_sandbox_left_is_removed(workspace: Path, env: Mapping[str, str], tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    link = tmp_path / "link"
    link.symlink_to(workspace)
    async with removed(ExecOptions(add_dirs=(str(more),)), env, str(link)):
        for directory in (workspace, more, Path(env["TMPDIR"])):
            make(directory, *NAMES)
    assert [names(directory) for directory in (workspace, more, Path(env["TMPDIR"]))] == [[], [], []]


@pytest.mark.fault(
    "workspace",
    "A run ends while another run in the directory is about to use the mount points",
    "The mount points remain until the last of the runs ends",
)
async def test_the_last_of_several_runs_removes_what_a_sandbox_left(workspace: Path, env: Mapping[str, str]) -> None:
    async with removed(ExecOptions(), env, str(workspace)):
        make(workspace, *NAMES)
        async with removed(ExecOptions(), env, str(workspace)):
            pass
        assert names(workspace) == NAMES
    assert names(workspace) == []


async def test_the_last_run_removes_what_was_there_at_its_start(workspace: Path, env: Mapping[str, str]) -> None:
    async with removed(ExecOptions(), env, str(workspace)):
        make(workspace, *NAMES)
        last = removed(ExecOptions(), env, str(workspace))
        await last.__aenter__()
    assert names(workspace) == NAMES
    await last.__aexit__(None, None, None)
    assert names(workspace) == []


async def test_a_run_in_another_process_uses_the_directory_too(
    workspace: Path, env: Mapping[str, str], notes: Path
) -> None:
    script = (
        "from codex_adapter.runtime.mount_notes import enter\n"
        f"note = enter({str(workspace)!r}, {MOUNT_TARGETS!r})\n"
        "print(len(note.names), flush=True)\n"
        "input()"
    )
    words = ["env", f"TMPDIR={notes}", sys.executable, "-c", script]
    async with removed(ExecOptions(), env, str(workspace)):
        make(workspace, *NAMES)
        with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as other:  # noqa: ASYNC220 - it is killed below
            assert other.stdout is not None
            assert other.stdout.readline() == f"{len(NAMES)}\n"
            async with removed(ExecOptions(), env, str(workspace)):
                pass
            assert names(workspace) == NAMES
            other.kill()
    assert names(workspace) == []


async def test_the_next_run_removes_what_a_killed_adapter_left(workspace: Path, env: Mapping[str, str]) -> None:
    killed = mount_notes.enter(str(workspace), MOUNT_TARGETS)
    assert killed is not None
    make(workspace, *NAMES)
    killed.close()
    async with removed(ExecOptions(), env, str(workspace)):
        pass
    assert names(workspace) == []


@pytest.mark.rule("N5")
@pytest.mark.fault(
    "signals",
    "SIGKILL ends an adapter whose agent's sandbox has mount points",
    "`doctor --orphans --kill` or the next run in the directory removes them",
)
async def test_what_killed_adapters_left_is_removed_with_their_orphans(workspace: Path, notes: Path) -> None:
    make(workspace, "killed", "running", "moved", "rebooted", "other")
    targets = [".git/hooks", ".git", ".aws"]
    for name in ("killed", "moved", "rebooted"):
        left = mount_notes.enter(str(workspace / name), targets)
        assert left is not None
        if name == "rebooted":
            left.path.write_text(f"another boot\0{workspace}/rebooted\0.git")
        left.close()
    running = mount_notes.enter(str(workspace / "running"), targets)
    assert running is not None
    for name in ("killed", "running", "moved", "rebooted", "other"):
        make(workspace / name, ".git", ".git/hooks")
    (workspace / "killed" / ".aws").write_text("not empty")
    (workspace / "moved").rename(workspace / "away")
    (workspace / "other").rename(workspace / "moved")
    (notes / "codex-adapter-mounts-0.1.2").touch()
    await end_orphans()
    assert {name: names(workspace / name) for name in names(workspace)} == {
        "away": [".git"],
        "killed": [".aws"],
        "moved": [".git"],
        "rebooted": [".git"],
        "running": [".git"],
    }
    running.remove()
    running.close()
    assert names(notes) == ["codex-adapter-mounts-0.1.2"]


async def test_a_note_from_before_the_start_of_the_machine_is_not_believed(
    workspace: Path, env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(mount_notes, "boot_id", lambda: "another")
        killed = mount_notes.enter(str(workspace), MOUNT_TARGETS)
    assert killed is not None
    make(workspace, ".git")
    killed.close()
    async with removed(ExecOptions(), env, str(workspace)):
        make(workspace, ".aws")
    assert names(workspace) == [".git"]


@pytest.mark.parametrize("kind", ["link", "another name", "directory", "pipe"])
async def test_a_note_that_somebody_else_can_have_made_is_not_used(
    workspace: Path, env: Mapping[str, str], notes: Path, kind: str
) -> None:
    (precious := workspace / "precious").write_text("mine")
    async with removed(ExecOptions(), env, str(workspace)):
        places = [notes / name for name in names(notes)]
    for place in places:
        match kind:
            case "link":
                place.symlink_to(precious)
            case "another name":
                place.hardlink_to(precious)
            case "directory":
                place.mkdir()
            case _:
                os.mkfifo(place)
    async with removed(ExecOptions(), env, str(workspace)):
        make(workspace, *NAMES)
    assert names(workspace) == [*NAMES, "precious"]
    assert precious.read_text() == "mine"


async def test_a_run_leaves_no_note(workspace: Path, env: Mapping[str, str], notes: Path) -> None:
    async with removed(ExecOptions(), env, str(workspace)), removed(ExecOptions(), env, str(workspace)):
        assert len(names(notes)) == len({*mount_roots(ExecOptions(), env, str(workspace))})
    assert names(notes) == []
    async with removed(ExecOptions(), env, str(workspace)):
        workspace.rename(workspace.with_name("away"))
    assert names(notes) == []


async def test_a_run_whose_note_cannot_be_written_removes_nothing(
    workspace: Path, env: Mapping[str, str], notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    async with removed(ExecOptions(), env, str(workspace)):
        make(workspace, *NAMES)
    assert (names(workspace), names(notes)) == (NAMES, [])


def test_a_run_waits_while_another_one_removes(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removing = mount_notes.enter(str(workspace), MOUNT_TARGETS)
    assert removing is not None
    assert removing.lock_alone()
    waits = []

    def end(seconds: float) -> None:
        waits.append(seconds)
        removing.remove()
        removing.close()

    monkeypatch.setattr(time, "sleep", end)
    entered = mount_notes.enter(str(workspace), MOUNT_TARGETS)
    assert entered is not None
    assert (len(waits), entered.path.exists()) == (1, True)
    entered.remove()
    entered.close()


def test_a_run_does_not_wait_forever(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removing = mount_notes.enter(str(workspace), MOUNT_TARGETS)
    assert removing is not None
    assert removing.lock_alone()
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    assert mount_notes.enter(str(workspace), MOUNT_TARGETS) is None
    removing.remove()
    removing.close()


async def test_a_thread_that_is_late_keeps_nothing_open(
    workspace: Path, env: Mapping[str, str], notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, done = threading.Event(), threading.Event()

    def late(directory: str, wanted: Sequence[str]) -> mount_notes.Note | None:
        go.wait()
        try:
            return mount_notes.enter(directory, wanted)
        finally:
            done.set()

    monkeypatch.setattr("codex_adapter.runtime.mount_targets.enter", late)
    monkeypatch.setattr("codex_adapter.runtime.mount_targets._PATIENCE", 0.05)
    async with removed(ExecOptions(), env, str(workspace)):
        pass
    go.set()
    await trio.to_thread.run_sync(done.wait)
    await trio.to_thread.run_sync(until, lambda: all(_is_free(notes / name) for name in names(notes)))


def _is_free(note: Path) -> bool:
    """Whether no run has a lock on it."""
    with note.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


async def test_an_empty_file_that_is_only_to_be_read_is_removed(workspace: Path, env: Mapping[str, str]) -> None:
    async with removed(ExecOptions(), env, str(workspace)):
        (workspace / ".codex").touch(0o444)
        (workspace / ".aws").touch(0o644)
    assert names(workspace) == [".aws"]


async def test_what_was_there_before_stays(workspace: Path, env: Mapping[str, str]) -> None:
    make(workspace, ".git", ".aws")
    async with removed(ExecOptions(), env, str(workspace)):
        make(workspace, ".agents", ".codex")
    assert names(workspace) == [".aws", ".git"]


async def test_what_is_not_empty_stays(workspace: Path, env: Mapping[str, str], tmp_path: Path) -> None:
    async with removed(ExecOptions(), env, str(workspace)):
        make(workspace, ".git", "empty")
        (workspace / ".git" / "HEAD").touch()
        (workspace / ".codex").write_text("x")
        (workspace / ".codex").chmod(0o444)
        make(tmp_path, "elsewhere")
        (workspace / ".aws").symlink_to(tmp_path / "elsewhere")
        (workspace / ".agents").symlink_to("nowhere")
    assert names(workspace) == [*NAMES[:3], ".git", "empty"]


@pytest.mark.parametrize("mode", ["read-only", "danger-full-access"])
async def test_only_runs_whose_sandbox_makes_them_remove_them(
    mode: str, workspace: Path, env: Mapping[str, str]
) -> None:
    async with removed(ExecOptions(sandbox_mode=mode), env, str(workspace)):
        make(workspace, ".codex")
    assert names(workspace) == [".codex"]


@pytest.mark.fault(
    "workspace",
    "Another run's sandbox has a mount over a directory that an ended run left behind",
    "The directory and the protection of the other sandbox remain",
)
async def test_what_another_sandbox_has_mounted_over_stays(workspace: Path, env: Mapping[str, str]) -> None:
    target = workspace / ".git"
    script = f"mount -t tmpfs none '{target}' && touch '{target}/protected' && echo up; read x; ls '{target}'"
    words = ["unshare", "--map-root-user", "--mount", "sh", "-c", script]
    ended = removed(ExecOptions(), env, str(workspace))
    await ended.__aenter__()
    make(workspace, ".git", ".aws")
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as other:  # noqa: ASYNC220 - it is waited for below
        assert other.stdout is not None
        if other.stdout.readline() != "up\n":
            missing("namespaces")
        await ended.__aexit__(None, None, None)
        assert names(workspace) == [".git"]
        assert other.communicate("\n")[0] == "protected\n"


@pytest.mark.fault(
    "workspace",
    "The agent replaces its working directory with a link to another directory",
    "The adapter removes nothing in that directory",
)
@pytest.mark.parametrize("kind", ["link of the directory", "link above it", "another directory"])
async def test_what_has_taken_the_place_of_the_directory_is_left_alone(
    workspace: Path, env: Mapping[str, str], tmp_path: Path, kind: str
) -> None:
    nested = workspace / "nested"
    victim = tmp_path / "victim" / "nested"
    make(victim.parent.parent, "victim")
    for directory in (nested, victim):
        directory.mkdir()
    make(victim, *NAMES)
    async with removed(ExecOptions(), env, str(nested)):
        if kind == "link above it":
            workspace.rename(tmp_path / "away")
            workspace.symlink_to(victim.parent)
        else:
            nested.rename(tmp_path / "away")
            if kind == "another directory":
                victim.rename(nested)
                victim = nested
            else:
                nested.symlink_to(victim)
    assert names(victim) == NAMES


@pytest.mark.fault(
    "environment",
    "The agent replaces a directory above a mount point by a link",
    "Nothing is removed at the target of the link",
)
async def test_a_link_above_a_target_leads_nowhere(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "skills").mkdir(parents=True)
    async with mount_targets_removed([str(workspace)], [".claude", ".claude/skills", ".codex"]):
        (workspace / ".claude").symlink_to(other)
        (workspace / ".codex").mkdir()
    assert (other / "skills").is_dir()
    assert [path.name for path in workspace.iterdir()] == [".claude"]
