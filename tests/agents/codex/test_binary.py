"""Test how the adapter finds the Codex CLI in real files and queries real processes for their release."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import pytest
import trio

from codex_adapter.agents.codex.binary import PROGRAM, find_binary
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.errors import SpawnError
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.runtime.programs import Binary, Version, Versions

SPAWN_TEXT = "codex backend error: spawn (details redacted when unsafe)"
TARGET = f"{os.uname().machine}-unknown-linux-musl"
PACKAGE = {"x86_64": "codex-linux-x64", "aarch64": "codex-linux-arm64"}.get(os.uname().machine, "")
ENVIRON = {"PATH": "/usr/bin:/bin"}


def program(path: Path, text: str = "exit 0") -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


ask_version = partial(PROGRAM.ask_version, containment=Containment())


def found(environ: dict[str, str] | None = None, *, binary: str | None = None) -> Binary:
    return find_binary(CodexConfig(binary=binary), environ or {})


def not_spawned(environ: dict[str, str] | None = None, *, binary: str | None = None) -> SpawnError:
    with pytest.raises(SpawnError) as caught:
        found(environ, binary=binary)
    assert str(caught.value) == SPAWN_TEXT
    assert caught.value.advice is not None
    assert caught.value.advice.endswith(".")
    assert "hunter2" not in caught.value.advice
    return caught.value


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wheel of the CLI is installed."""
    monkeypatch.setitem(sys.modules, "codex_cli_bin", None)


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel of the CLI is installed; its binary is given, and importing its package would fail."""
    monkeypatch.delitem(sys.modules, "codex_cli_bin", raising=False)
    package = tmp_path / "site" / "codex_cli_bin"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(package.parent)
    return program(package / "bin" / "codex")


@pytest.mark.rule("S6")
def test_the_configured_path_beats_everything(tmp_path: Path, wheel: Path) -> None:
    mine = program(tmp_path / "mine")
    other = program(tmp_path / "bin" / "codex")
    environ = {"CODEX_BINARY": str(other), "PATH": str(other.parent)}
    assert found(environ, binary=str(mine)) == Binary(str(mine), "configured")


@pytest.mark.rule("S6")
def test_a_configured_name_is_looked_up_on_the_path_of_the_run(tmp_path: Path) -> None:
    mine = program(tmp_path / "bin" / "my-codex")
    assert found({"PATH": f"/nowhere:{mine.parent}"}, binary="my-codex") == Binary(str(mine), "configured")
    assert not_spawned({"PATH": "/nowhere"}, binary="my-codex").not_found


@pytest.mark.rule("S6")
def test_a_relative_path_counts_from_the_process_and_becomes_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = program(tmp_path / "tools" / "codex")
    monkeypatch.chdir(tmp_path)
    assert found(binary="tools/codex").path == str(mine)
    assert found({"PATH": "tools"}, binary="codex").path == str(mine)


@pytest.mark.rule("S6")
def test_the_variable_beats_the_wheel(tmp_path: Path, wheel: Path) -> None:
    mine = program(tmp_path / "mine")
    assert found({"CODEX_BINARY": str(mine)}) == Binary(str(mine), "CODEX_BINARY")
    assert found({"CODEX_BINARY": ""}).origin == "wheel"


@pytest.mark.rule("S6")
def test_the_variable_can_be_a_name(tmp_path: Path) -> None:
    mine = program(tmp_path / "mine")
    assert found({"CODEX_BINARY": "mine", "PATH": str(tmp_path)}).path == str(mine)


@pytest.mark.rule("S6")
def test_the_wheel_beats_the_path_and_is_not_imported(tmp_path: Path, wheel: Path) -> None:
    other = program(tmp_path / "bin" / "codex")
    assert found({"PATH": str(other.parent)}) == Binary(str(wheel), "wheel")
    assert "codex_cli_bin" not in sys.modules


@pytest.mark.rule("S6")
@pytest.mark.fault(
    "spawning", "The binary is missing from the installed wheel of the CLI", "The adapter uses the binary on PATH"
)
def test_a_wheel_without_its_binary_is_passed_over(tmp_path: Path, wheel: Path) -> None:
    wheel.unlink()
    other = program(tmp_path / "bin" / "codex")
    assert found({"PATH": str(other.parent)}) == Binary(str(other), "PATH")


@pytest.mark.rule("S6")
@pytest.mark.usefixtures("no_wheel")
@pytest.mark.fault(
    "spawning", "No Codex CLI is installed", "The adapter raises SpawnError (not found) and explains how to install one"
)
def test_without_any_cli_the_advice_says_how_to_get_one() -> None:
    error = not_spawned({"PATH": "/nowhere"})
    assert error.not_found
    assert "pip install openai-codex-cli-bin" in str(error.advice)
    assert "npm install -g @openai/codex" in str(error.advice)


@pytest.mark.rule("S6")
@pytest.mark.parametrize("name", ["missing", "file/below", "hunter2"])
@pytest.mark.fault(
    "spawning",
    "The binary does not exist, or its directory is a file",
    "The adapter raises SpawnError (not found) without any part of the path",
)
def test_a_path_to_nothing_is_not_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    assert not_spawned(binary=str(tmp_path / name)).not_found
    assert not_spawned({"CODEX_BINARY": str(tmp_path / name)}).not_found


@pytest.mark.rule("S6")
@pytest.mark.fault(
    "spawning", "The binary is a file without execute permission", "The adapter raises SpawnError (not executable)"
)
@pytest.mark.fault("spawning", "The binary is a directory", "The adapter raises SpawnError (not executable)")
@pytest.mark.fault("spawning", "The binary is a symlink to itself", "The adapter raises SpawnError (not executable)")
def test_what_is_there_but_cannot_be_executed_is_told_apart(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch(mode=0o644)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert not not_spawned(binary=str(plain)).not_found
    assert not not_spawned(binary=str(tmp_path)).not_found
    assert not not_spawned(binary=str(loop)).not_found


@pytest.mark.rule("S6")
@pytest.mark.parametrize(
    "native",
    [
        f"node_modules/@openai/codex/vendor/{TARGET}/codex/codex",
        f"node_modules/@openai/{PACKAGE}/vendor/{TARGET}/codex/codex",
        f"node_modules/@openai/{PACKAGE}/vendor/{TARGET}/bin/codex",
        f"node_modules/@openai/codex/node_modules/@openai/{PACKAGE}/vendor/{TARGET}/bin/codex",
    ],
)
@pytest.mark.parametrize("link", ["node_modules/.bin/codex", "bin/codex", "node_modules/@openai/codex/bin/codex.js"])
@pytest.mark.usefixtures("no_wheel")
def test_the_native_binary_is_preferred_to_the_npm_launcher(tmp_path: Path, native: str, link: str) -> None:
    launcher = program(tmp_path / "node_modules" / "@openai" / "codex" / "bin" / "codex.js")
    named = tmp_path / link
    if named != launcher:
        named.parent.mkdir(exist_ok=True)
        named.symlink_to(os.path.relpath(launcher, named.parent))
    binary = program(tmp_path / native)
    assert found(binary=str(named)) == Binary(str(binary), "configured")
    if named.name == "codex":
        assert found({"PATH": str(named.parent)}) == Binary(str(binary), "PATH")


@pytest.mark.rule("S6")
def test_a_launcher_without_a_native_binary_is_taken_as_it_is(tmp_path: Path) -> None:
    launcher = program(tmp_path / "node_modules" / "@openai" / "codex" / "bin" / "codex.js")
    assert found(binary=str(launcher)) == Binary(str(launcher), "configured", launcher=True)


@pytest.mark.rule("S6")
def test_a_link_to_a_native_binary_keeps_its_name(tmp_path: Path) -> None:
    native = program(tmp_path / "opt" / "codex-0.163.0")
    link = tmp_path / "codex"
    link.symlink_to(native)
    assert found(binary=str(link)).path == str(link)


@pytest.mark.rule("S8")
async def test_the_release_is_what_the_binary_says(tmp_path: Path) -> None:
    path = program(tmp_path / "codex", 'test "$1" = --version && echo codex-cli 0.98.0')
    assert await ask_version(Binary(str(path), "configured"), ENVIRON) == Version(0, 98, 0)


@pytest.mark.rule("S8")
@pytest.mark.parametrize(
    "script",
    [
        "exit 3",
        "echo something else",
        "printf '\\377\\376'",
        "exec yes codex-cli",
        "kill -9 $$",
        "read line && echo codex-cli 0.98.0",
    ],
)
@pytest.mark.fault(
    "spawning",
    "The binary fails, dies, floods its output or waits for input when the adapter queries its release",
    "The run continues without a known release",
)
async def test_a_binary_that_does_not_say_has_no_release(tmp_path: Path, script: str) -> None:
    path = program(tmp_path / "codex", script)
    with trio.fail_after(60):
        assert await ask_version(Binary(str(path), "configured"), ENVIRON) is None


@pytest.mark.rule("S8")
async def test_what_cannot_be_executed_has_no_release(tmp_path: Path) -> None:
    path = tmp_path / "codex"
    path.write_bytes(b"\x7fELF")
    path.chmod(0o755)
    assert await ask_version(Binary(str(path), "configured"), ENVIRON) is None
    assert await Versions(PROGRAM).of(Binary(str(tmp_path / "gone"), "configured"), ENVIRON, CodexConfig()) is None


@pytest.mark.rule("S8", "X1")
async def test_nothing_that_the_binary_prints_comes_through(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = program(tmp_path / "codex", "echo hunter2; echo hunter2 >&2; echo codex-cli 0.98.0")
    assert await ask_version(Binary(str(path), "configured"), ENVIRON) == Version(0, 98, 0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.rule("S8")
@pytest.mark.fault(
    "spawning", "A caller cancels the run while the adapter queries the binary for its release", "No process survives"
)
async def test_asking_can_be_cancelled_and_leaves_no_process(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    path = program(tmp_path / "codex", f"exec 3>{fifo}; sleep 1000 & echo started >&3; wait")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask_version, Binary(str(path), "configured"), ENVIRON)
        held_open = await trio.open_file(fifo)
        assert await held_open.readline() == "started\n"
        nursery.cancel_scope.cancel()
    # its end comes when neither the shell nor its child is there any more
    async with held_open:
        assert await held_open.read() == ""


@pytest.mark.rule("S8")
@pytest.mark.fault(
    "spawning",
    "The binary hangs when the adapter queries its release",
    "The adapter stops waiting and kills the binary",
)
async def test_a_binary_that_hangs_is_given_up(tmp_path: Path) -> None:
    path = program(tmp_path / "codex", "exec sleep 1000")
    assert await ask_version(Binary(str(path), "configured"), ENVIRON, seconds=0.05) is None


@pytest.mark.rule("S8")
@pytest.mark.fault(
    "spawning", "The user installs another release between two runs", "The adapter queries the release again"
)
async def test_a_binary_is_asked_once_until_it_changes(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    path = program(tmp_path / "codex", f"echo x >> {asked}; echo codex-cli 0.98.0")
    binary, versions = Binary(str(path), "configured"), Versions(PROGRAM)
    answers: list[Version | None] = []

    async def ask() -> None:
        answers.append(await versions.of(binary, ENVIRON, CodexConfig()))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(ask)
    assert answers == [Version(0, 98, 0)] * 5
    assert asked.read_text() == "x\n"
    program(path, "echo codex-cli 0.155.0")
    assert await versions.of(binary, ENVIRON, CodexConfig()) == Version(0, 155, 0)


@pytest.mark.rule("S5", "S8")
async def test_the_binary_is_asked_in_the_environment_of_the_run(tmp_path: Path) -> None:
    path = program(tmp_path / "codex", 'echo "codex-cli $RELEASE"')
    version = await ask_version(Binary(str(path), "configured"), {**ENVIRON, "RELEASE": "0.98.0"})
    assert version == Version(0, 98, 0)
