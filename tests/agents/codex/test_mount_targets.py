"""Test that a run removes only the empty directories that its sandbox created as mount targets."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from codex_adapter.agents.codex.extensions import ExecOptions
from codex_adapter.agents.codex.mount_targets import MOUNT_TARGETS, mount_roots
from codex_adapter.runtime.mount_targets import mount_targets_removed

pytestmark = pytest.mark.rule("K8")


def removed(options: ExecOptions, env: Mapping[str, str], cwd: str) -> AbstractAsyncContextManager[None]:
    return mount_targets_removed(mount_roots(options, env, cwd), MOUNT_TARGETS)


NAMES = [".agents", ".aws", ".codex", ".git"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
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
            pytest.skip("this machine lets the tests mount nothing")
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
