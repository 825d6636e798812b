"""Test how the adapter finds pi and its release in real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codex_adapter.agents.pi.binary import find_binary, release_of
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.releases import has_project_trust, parse_version
from codex_adapter.errors import SpawnError
from codex_adapter.runtime.programs import Binary, Version

NAME = "@earendil-works/pi-coding-agent"


def program(path: Path, text: str = "exit 0") -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.rule("S6")
def test_each_place_comes_before_the_next(tmp_path: Path) -> None:
    mine, named, on_path = program(tmp_path / "mine"), program(tmp_path / "named"), program(tmp_path / "bin" / "pi")
    environ = {"PI_BINARY": str(named), "PATH": str(on_path.parent)}
    assert find_binary(PiConfig(binary=str(mine)), environ) == Binary(str(mine), "configured")
    assert find_binary(PiConfig(), environ) == Binary(str(named), "PI_BINARY")
    del environ["PI_BINARY"]
    assert find_binary(PiConfig(), environ) == Binary(str(on_path), "PATH")


@pytest.mark.rule("S6")
def test_without_a_cli_the_advice_names_the_package_of_npm() -> None:
    with pytest.raises(SpawnError) as caught:
        find_binary(PiConfig(), {"PATH": "/nowhere"})
    assert caught.value.not_found
    assert f"npm install -g {NAME}" in str(caught.value.advice)
    assert "codex" not in str(caught.value.advice).lower()


@pytest.mark.rule("S8")
@pytest.mark.parametrize("place", ["dist/cli.js", "dist/bundle/cli.js"])
async def test_the_release_is_read_from_the_package_without_a_start(tmp_path: Path, place: str) -> None:
    script = program(tmp_path / "node_modules" / NAME / place, f"touch {tmp_path}/started")
    (tmp_path / "node_modules" / NAME / "package.json").write_text(json.dumps({"name": NAME, "version": "0.74.2"}))
    link = tmp_path / "bin" / "pi"
    link.parent.mkdir()
    link.symlink_to(script)
    assert await release_of(Binary(str(link), "PATH"), {}, PiConfig()) == Version(0, 74, 2)
    assert not (tmp_path / "started").exists()


@pytest.mark.rule("S8")
@pytest.mark.parametrize("package", ["", '{"name":"other","version":"1.0.0"}', "[]"])
async def test_without_its_package_the_program_is_asked(tmp_path: Path, package: str) -> None:
    (tmp_path / "package.json").write_text(package)
    path = program(tmp_path / "pi", "echo 0.87.1")
    assert await release_of(Binary(str(path), "configured"), {}, PiConfig()) == Version(0, 87, 1)


@pytest.mark.rule("R1", "S8")
def test_the_table_of_releases() -> None:
    assert parse_version("0.87.1\n") == Version(0, 87, 1)
    assert parse_version("1.0.0-beta.1") == Version(1, 0, 0, "beta.1")
    assert parse_version("codex-cli 0.1.2") is None
    assert not has_project_trust(Version(0, 74, 2))
    assert has_project_trust(Version(0, 80, 10))
    assert has_project_trust(None)
