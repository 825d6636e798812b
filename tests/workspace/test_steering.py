"""Test that no command or operation changes files that control programs outside the sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.workspace import (
    AgentPlaces,
    Sandbox,
    SteeringWatch,
    Workspace,
    WorkspaceError,
    find_sandbox,
    is_replaceable,
    isolate_environment,
    seal_imports,
)
from codex_adapter.workspace.steering_files import find_own_programs, list_steering_names
from tests.widths import thinned

from .shells import Shell

pytestmark = pytest.mark.rule("H15")

STEERING = list_steering_names(known_places())
COMMIT = "git -c user.name=n -c user.email=n@localhost commit -q"
WORK_OF_GIT = f"""\
set -e
echo two > a; git add -A; {COMMIT} -m Two
git checkout -q -b other; echo three > a; {COMMIT} -am Three; git checkout -q -; git merge -q other
echo four > a; git stash -q; git stash pop -q; {COMMIT} -am Four; git tag t; git rebase -q HEAD~1
git repack -adq; git pack-refs --all; git worktree add -q tree; git log --format=%s -n 1
"""


TRY = "touch a; (echo x >shared/x || echo x >>real/config) 2>/dev/null || echo kept"


def git(root: Path, *words: str) -> None:
    """Run git, as the user does."""
    names = ("-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *names, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repository(root: Path, tmp_path: Path) -> Path:
    """The workspace as a repository with a commit and a submodule."""
    other = tmp_path / "other"
    for place in (other, root):
        place.mkdir(exist_ok=True)
        git(place, "init", "-q")
        (place / "a").write_text("one\n")
        git(place, "add", ".")
        git(place, "commit", "-qm", "One")
    git(root, "submodule", "add", "-q", str(other), "sub")
    git(root, "commit", "-qm", "Sub")
    return root


def seen(place: Path) -> dict[str, bytes]:
    """The files at a path and below it."""
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place.parent)): path.read_bytes() for path in files}


@pytest.mark.fault(
    "workspace",
    "A command sets a filter, hook or other program of git",
    "The settings do not change",
)
@pytest.mark.parametrize(
    "command",
    thinned(
        [
            "git config filter.x.clean ./x",
            "git -C sub config filter.x.clean ./x",
            "echo x >> .git/config",
            "echo x > .git/config.new; mv -f .git/config.new .git/config",
            "rm -f .git/config; echo x > .git/config",
            "ln .git/config linked; echo x > linked",
            "mv .git moved; mkdir .git; echo x > .git/config",
            "echo x > .git/hooks/pre-commit",
            "mv .git/hooks moved; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
            "echo x > .git/modules/sub/config",
            "echo x > .git/modules/sub/hooks/post-checkout",
            "mv .git/modules .git/moved; cp -a .git/moved .git/modules; echo x > .git/modules/sub/config",
            "mkdir evil; cp .git/config evil; echo ../evil > .git/commondir",
            'python3 -c \'import os; os.rename(".git", "moved")\'',
        ],
        2,
    ),
)
async def test_no_command_changes_what_git_runs(sandboxed: Shell, repository: Path, command: str) -> None:
    kept = ("config", "hooks", "modules/sub/config", "modules/sub/hooks")
    before = {name: seen(repository / ".git" / name) for name in kept}
    await sandboxed(command)
    assert {name: seen(repository / ".git" / name) for name in kept} == before
    assert not (repository / ".git" / "commondir").exists()
    git(repository, "status")


async def test_plain_work_with_git_goes_on(sandboxed: Shell, repository: Path) -> None:
    assert await sandboxed.output(WORK_OF_GIT) == "Four\n"
    git(repository, "fsck", "--strict")


async def test_what_the_configuration_includes_is_kept_too(sandboxed: Shell, repository: Path) -> None:
    git(repository, "config", "include.path", "../shared.config")
    git(repository, "config", "core.hooksPath", "tools/hooks")
    (repository / "shared.config").write_text("[core]\n")
    (repository / "tools" / "hooks").mkdir(parents=True)
    await sandboxed("echo '[filter \"x\"] clean = x' >> shared.config; echo x > tools/hooks/pre-commit")
    assert (repository / "shared.config").read_text() == "[core]\n"
    assert list((repository / "tools" / "hooks").iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        "mv tools t2; cp -r t2 tools; echo x > tools/sub/hooks/pre-commit; echo x > tools/git.cfg",
        "mv tools/sub t2; cp -r t2 tools/sub; echo x > tools/sub/hooks/pre-commit",
        "rm -rf tools; mkdir -p tools/sub/hooks; echo x > tools/sub/hooks/pre-commit; echo x > tools/git.cfg",
    ],
)
async def test_what_the_configuration_names_is_not_replaced_with_the_directories_above_it(
    sandboxed: Shell, repository: Path, command: str
) -> None:
    git(repository, "config", "include.path", "../tools/git.cfg")
    git(repository, "config", "core.hooksPath", "tools/sub/hooks")
    (repository / "tools" / "sub" / "hooks").mkdir(parents=True)
    (repository / "tools" / "git.cfg").write_text("[core]\n")
    await sandboxed(f"{command}; echo free > tools/other")
    assert (repository / "tools" / "git.cfg").read_text() == "[core]\n"
    assert list((repository / "tools" / "sub" / "hooks").iterdir()) == []


@pytest.mark.parametrize("name", sorted(STEERING - {".git"}))
@pytest.mark.parametrize("kind", ["file", "directory"])
async def test_no_command_changes_settings_of_agents_and_editors(
    sandboxed: Shell, root: Path, name: str, kind: str
) -> None:
    place = root / name / "x" / "settings" if kind == "directory" else root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("own")
    inside = f"{name}/x/settings" if kind == "directory" else name
    await sandboxed(f"echo x > {inside}; rm -rf {name}; mv {name} moved; mkdir -p {name}/x; echo x > {name}/new")
    assert seen(root / name) == seen(root / name) | {str(place.relative_to(root)): b"own"}
    assert len(seen(root / name)) == 1


async def test_a_link_leads_to_what_is_kept_and_stops_no_command(
    sandboxed: Shell, repository: Path, tmp_path: Path
) -> None:
    (repository / ".git").rename(repository / "real")
    (repository / ".git").symlink_to("real")
    (repository / "shared").mkdir()
    (repository / ".codex").symlink_to("shared")
    (tmp_path / "elsewhere").mkdir()
    (repository / ".claude").symlink_to(tmp_path / "elsewhere")
    (repository / ".vscode").symlink_to("nowhere")
    before = seen(repository / "real" / "config")
    assert await sandboxed.output(TRY) == "kept\n"
    assert seen(repository / "real" / "config") == before


async def test_a_repository_of_commands_own_is_free(sandboxed: Shell, root: Path) -> None:
    assert await sandboxed.output("git init -q && git config a.b c && git config a.b") == "c\n"
    assert (root / ".git").is_dir()


@pytest.mark.fault(
    "workspace", "A file operation changes files that control other programs", "The operation is `denied`"
)
@pytest.mark.parametrize("name", sorted(STEERING))
def test_no_operation_on_files_changes_what_steers_other_programs(workspace: Workspace, root: Path, name: str) -> None:
    (root / "sub" / name).mkdir(parents=True)
    (root / "sub" / name / "x").write_text("own")
    (root / "link").symlink_to(f"sub/{name}")
    for path in (f"sub/{name}/x", f"sub/{name.upper()}/x", "link/x", f"{name}/made/config", name):
        with pytest.raises(WorkspaceError) as caught:
            workspace.write(path, [b"evil"], overwrite=True, limit=100)
        assert (caught.value.code, caught.value.system) == ("denied", False)
    for path in (f"sub/{name}/x", "link/x"):
        with pytest.raises(WorkspaceError, match="Leave the change to the user"):
            workspace.replace(path, lambda _: b"evil", limit=100)
        with pytest.raises(WorkspaceError, match="Leave the change to the user"):
            workspace.delete(path)
        assert workspace.read(path, limit=100) == b"own"
    assert sorted(path.name for path in root.iterdir()) == ["link", "sub"]


@pytest.fixture
def installed(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python of ours within the workspace."""
    place = root / ".venv"
    (place / "lib").mkdir(parents=True)
    (place / "lib" / "module.py").write_text("own")
    monkeypatch.setattr("sys.prefix", str(place))
    return place


@pytest.mark.fault("workspace", "The adapter is installed in the workspace", "No command or operation can change it")
async def test_the_program_itself_is_not_changed(sandboxed: Shell, root: Path, installed: Path) -> None:
    assert find_own_programs(str(root)) == [str(installed)]
    await sandboxed("echo x > .venv/lib/module.py; rm -rf .venv; mv .venv x; echo x > .venv/lib/other.py; true")
    assert seen(installed) == {".venv/lib/module.py": b"own"}
    with (
        Workspace(root, agents=known_places()) as opened,
        pytest.raises(WorkspaceError, match="Install the program outside of the workspace"),
    ):
        opened.write(".venv/lib/module.py", [b"x"], overwrite=True, limit=100)


def test_what_is_in_the_workspace_is_neither_run_nor_imported(
    root: Path, installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(root)
    monkeypatch.chdir(root)
    environ = {"PATH": f"{root}/bin:/usr/bin::bin:{tmp_path}/link/x:{root}", "PYTHONPATH": "src:/a", "HOME": "/h"}
    assert isolate_environment(environ, str(root)) == {"PATH": "/usr/bin", "PYTHONPATH": "/a", "HOME": "/h"}
    assert isolate_environment({"PATH": str(root)}, str(root)) == {"PATH": os.defpath}
    assert is_replaceable(f"{root}/node_modules/codex", str(root))
    assert not is_replaceable(f"{installed}/bin/codex", str(root))
    assert not is_replaceable("/usr/bin/codex", str(root))
    monkeypatch.setattr("sys.path", ["", str(root), f"{installed}/lib", "/usr/lib", str(root / "src")])
    seal_imports(str(root))
    assert sys.path == [f"{installed}/lib", "/usr/lib"]


def test_a_sandbox_of_the_workspace_is_not_taken(root: Path, sandbox: Sandbox) -> None:
    (root / "bwrap").write_text(f'#!/bin/sh\nexec {sandbox.path} "$@"\n')
    (root / "bwrap").chmod(0o755)
    environ = {"PATH": f"{root}:{os.environ['PATH']}"}
    with_it = find_sandbox(environ, agents=known_places())
    without = find_sandbox(environ, agents=known_places(), workspace=str(root))
    assert with_it is not None
    assert without is not None
    assert (with_it.path, without.path) == (str(root / "bwrap"), sandbox.path)


def test_the_settings_of_the_agents_that_are_named_steer() -> None:
    other = AgentPlaces(settings=frozenset({".other"}))
    assert list_steering_names((*known_places(), other)) == {
        *(".git", ".husky", ".envrc", ".mcp.json"),
        *(".codex", ".agents", ".claude", ".gemini", ".cursor", ".pi", ".other"),
        *(".vscode", ".idea", ".devcontainer"),
    }


def test_a_change_is_seen_and_a_new_repository_is_none(root: Path) -> None:
    watch = SteeringWatch(str(root), STEERING)
    git(root, "init", "-q")
    assert watch.find_change() is None
    (root / ".envrc").write_text("x")
    assert watch.find_change() == ".envrc"


@pytest.mark.rule("H14")
def test_no_operation_on_files_reads_what_is_hidden(root: Path) -> None:
    (root / ".ssh").mkdir()
    (root / ".ssh" / "id").write_text("secret")
    (root / "link").symlink_to(".ssh/id")
    with Workspace(root, agents=(), hidden=(str(root / ".ssh"), str(root.parent))) as opened:
        for path in (".ssh/id", "link"):
            with pytest.raises(WorkspaceError, match="leads to secrets, which are hidden"):
                opened.read(path, limit=100)
        opened.write("own", [b"x"], overwrite=False, limit=100)
