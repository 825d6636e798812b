"""Test the search for a sandbox: its places, and that it selects only a working one."""

from __future__ import annotations

import os
import resource
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from codex_adapter.agents.codex.places import codex_places
from codex_adapter.workspace.errors import WorkspaceError
from codex_adapter.workspace.sandbox import Sandbox, find_sandbox

from ..needs import missing

pytestmark = pytest.mark.rule("H13")


def program(directory: Path, script: str, name: str = "bwrap") -> str:
    """A shell script as a program."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def codex_with(tmp_path: Path, script: str) -> str:
    """A Codex CLI that brings a bubblewrap; the path of the CLI."""
    program(tmp_path / "vendor" / "codex-resources", script)
    return program(tmp_path / "vendor" / "bin", "exit 0", "codex")


def find(codex: str | None, environ: dict[str, str]) -> Sandbox | None:
    """Search beside this Codex CLI."""
    return find_sandbox(environ, agents=(codex_places(codex),))


def test_the_one_on_path_comes_first(sandbox: Sandbox, tmp_path: Path) -> None:
    own = program(tmp_path / "path", f'exec {sandbox.path} "$@"')
    found = find(codex_with(tmp_path, f'exec {sandbox.path} "$@"'), {"PATH": str(tmp_path / "path")})
    assert found is not None
    assert (found.path, found.strict, found.hidden) == (own, sandbox.strict, ())


def test_the_one_beside_the_codex_binary_comes_next(sandbox: Sandbox, tmp_path: Path) -> None:
    program(tmp_path / "path", "exit 1")
    codex = Path(codex_with(tmp_path, f'exec {sandbox.path} "$@"'))
    link = tmp_path / "codex"
    link.symlink_to(codex)
    found = find(str(link), {"PATH": str(tmp_path / "path"), "HOME": "/home/u"})
    assert found is not None
    assert found.path == str(codex.parent.parent / "codex-resources" / "bwrap")
    assert "/home/u/.ssh" in found.hidden


def test_one_that_cannot_bar_namespaces_is_told_from_one_that_can(sandbox: Sandbox, tmp_path: Path) -> None:
    old = f'for word; do [ "$word" = --disable-userns ] && exit 1; done; exec {sandbox.path} "$@"'
    found = find("/no/such/codex", {"PATH": str(Path(program(tmp_path, old)).parent)})
    assert found is not None
    assert not found.strict
    assert found.level != sandbox.level or not sandbox.strict


@pytest.mark.parametrize("script", ["exit 1", "exit 0", "kill -KILL $$", "exec sleep 0"])
@pytest.mark.fault(
    "workspace", "Bubblewrap is installed but the system does not allow it to work", "The search finds no sandbox"
)
def test_one_that_does_not_work_is_none(tmp_path: Path, script: str) -> None:
    program(tmp_path / "path", script)
    assert find(codex_with(tmp_path, script), {"PATH": str(tmp_path / "path")}) is None


@pytest.mark.parametrize("codex", ["/no/such/codex", "/bin/sh"])
def test_where_none_is_there_is_none(tmp_path: Path, codex: str) -> None:
    assert find(codex, {"PATH": str(tmp_path)}) is None


def test_the_one_of_the_installed_wheel_is_found() -> None:
    pytest.importorskip("codex_cli_bin")
    found = find(None, {"PATH": "/nowhere"})
    if found is None:
        missing("bubblewrap")
    assert Path(found.path).parts[-3:] == ("codex_cli_bin", "codex-resources", "bwrap")


@pytest.mark.fault(
    "workspace",
    "No descriptor is left to test a sandbox",
    "The adapter raises an error and draws no conclusion about the sandbox",
)
def test_a_shortage_does_not_mean_that_there_is_none(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(Path(program(tmp_path / "path", f'exec {sandbox.path} "$@"')).parent)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    held: list[int] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(WorkspaceError, match="Too many open files") as failure:
            find("/no/such/codex", {"PATH": path})
        assert failure.value.code == "exhausted"
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("why", ["Resource temporarily unavailable", "Cannot allocate memory"])
@pytest.mark.rule("I10")
@pytest.mark.fault(
    "workspace",
    "No process is left to test a sandbox",
    "The adapter raises an error and draws no conclusion about the sandbox",
)
def test_a_shortage_of_processes_in_it_does_not_mean_that_there_is_none(tmp_path: Path, why: str) -> None:
    script = f"echo 'bwrap: Creating new namespace failed: {why}' >&2; exit 1"
    with pytest.raises(WorkspaceError, match=why) as failure:
        find("/no/such/codex", {"PATH": str(Path(program(tmp_path / "path", script)).parent)})
    assert failure.value.code == "exhausted"


def test_a_system_without_namespaces_is_no_shortage(tmp_path: Path) -> None:
    script = "echo 'bwrap: Creating new namespace failed: No space left on device' >&2; exit 1"
    assert find("/none", {"PATH": str(Path(program(tmp_path / "path", script)).parent)}) is None
