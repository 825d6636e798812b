"""Test how the adapter finds Claude Code in real files."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import pytest

from codex_adapter.agents.claude.binary import PROGRAM, find_binary
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.errors import SpawnError
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.runtime.programs import Binary, Version

pytestmark = pytest.mark.rule("S6")
PACKAGE = {"x86_64": "claude-code-linux-x64", "aarch64": "claude-code-linux-arm64"}.get(os.uname().machine, "")


def program(path: Path, text: str = "exit 0") -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


ask_version = partial(PROGRAM.ask_version, containment=Containment())


def found(environ: dict[str, str] | None = None, *, binary: str | None = None) -> Binary:
    return find_binary(ClaudeConfig(binary=binary), environ or {})


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wheel of the CLI is installed."""
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)


def test_each_place_comes_before_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "claude_agent_sdk", raising=False)
    package = tmp_path / "site" / "claude_agent_sdk"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(package.parent)
    wheel = program(package / "_bundled" / "claude")
    mine, named, on_path = program(tmp_path / "mine"), program(tmp_path / "named"), program(tmp_path / "bin" / "claude")
    environ = {"CLAUDE_BINARY": str(named), "PATH": str(on_path.parent)}
    assert found(environ, binary=str(mine)) == Binary(str(mine), "configured")
    assert found(environ) == Binary(str(named), "CLAUDE_BINARY")
    del environ["CLAUDE_BINARY"]
    assert found(environ) == Binary(str(wheel), "wheel")
    assert "claude_agent_sdk" not in sys.modules
    wheel.unlink()
    assert found(environ) == Binary(str(on_path), "PATH")


@pytest.mark.usefixtures("no_wheel")
def test_without_a_cli_the_advice_names_it_and_no_other() -> None:
    for binary, environ in ((None, {}), ("/no/claude", {}), ("claude-x", {}), (None, {"CLAUDE_BINARY": "x"})):
        with pytest.raises(SpawnError) as caught:
            found({"PATH": "/nowhere", **environ}, binary=binary)
        assert caught.value.not_found
        assert "pip install 'claude-agent-sdk>=" in str(caught.value.advice)
        assert "Claude Code" in str(caught.value.advice)
        assert "codex" not in str(caught.value.advice).lower()


@pytest.mark.usefixtures("no_wheel")
@pytest.mark.parametrize("suffix", ["", "-musl"])
@pytest.mark.parametrize("launcher", ["bin/claude.exe", "cli-wrapper.cjs"])
def test_the_native_binary_replaces_the_npm_launcher(tmp_path: Path, launcher: str, suffix: str) -> None:
    script = program(tmp_path / "node_modules" / "@anthropic-ai" / "claude-code" / launcher)
    native = program(tmp_path / "node_modules" / "@anthropic-ai" / f"{PACKAGE}{suffix}" / "claude")
    link = tmp_path / "node_modules" / ".bin" / "claude"
    link.parent.mkdir()
    link.symlink_to(script)
    assert found({"PATH": str(link.parent)}) == Binary(str(native), "PATH")
    native.unlink()
    assert found(binary=str(link)) == Binary(str(link), "configured", launcher=True)


def test_a_native_binary_in_the_place_of_the_launcher_is_used(tmp_path: Path) -> None:
    native = program(tmp_path / "claude-code" / "bin" / "claude.exe")
    with native.open("ab") as file:
        file.truncate(2 * 1024 * 1024)
    assert found(binary=str(native)) == Binary(str(native), "configured")


def test_the_script_of_an_old_release_is_no_launcher(tmp_path: Path) -> None:
    script = program(tmp_path / "claude-code" / "cli.js")
    assert found(binary=str(script)) == Binary(str(script), "configured")


@pytest.mark.rule("S8")
async def test_the_release_is_in_the_output_of_the_program(tmp_path: Path) -> None:
    path = program(tmp_path / "claude", "echo '2.1.330 (Claude Code)'")
    assert await ask_version(Binary(str(path), "configured"), {}) == Version(2, 1, 330)
