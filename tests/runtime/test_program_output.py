"""Test that a program that is asked for its release is contained like a run, with real processes."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path

import pytest
import trio

from codex_adapter import CodexConfig, SpawnError
from codex_adapter.agents.codex.binary import PROGRAM
from codex_adapter.runtime.containment import containment
from codex_adapter.runtime.containment.containment import Containment, Level
from codex_adapter.runtime.programs import Binary, Version, Versions

pytestmark = pytest.mark.rule("N7", "S8")

RELEASE = Version(0, 98, 0)
SURVIVORS = {
    "background": "sleep 1000 &",
    "own session": "setsid sleep 1000 &",
    "daemon": "(cd / && setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & wait' &)",
}


def wrapper(directory: Path, commands: str, last: str = "echo codex-cli 0.98.0") -> Binary:
    """A script that executes commands, then prints a release."""
    path = directory / "codex"
    path.write_text(f"#!/bin/sh\n{commands}\n{last}\n")
    path.chmod(0o755)
    return Binary(str(path), "configured")


@pytest.mark.parametrize("kind", SURVIVORS)
@pytest.mark.fault(
    "spawning",
    "The binary leaves processes behind when the adapter queries its release",
    "No process survives, and the adapter does not wait for them",
)
async def test_no_process_survives_the_question(tmp_path: Path, level: Level, kind: str) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    # They hold the pipe and standard output open.
    binary = wrapper(tmp_path, f"exec 3>{fifo}; {SURVIVORS[kind]}")
    answers: list[Version | None] = []

    async def ask() -> None:
        contained = Containment(allowed=(level,))
        environ = dict(os.environ)
        answers.append(await PROGRAM.ask_version(binary, environ, containment=contained, seconds=math.inf))

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            held_open = await trio.open_file(fifo)
        async with held_open:
            assert await held_open.read() == ""
    assert answers == [RELEASE]


@pytest.mark.rule("S10")
async def test_no_temporary_file_survives_the_question(
    tmp_path: Path, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        monkeypatch.setenv("TMPDIR", temporary)
        place = tmp_path / "place"
        binary = wrapper(tmp_path, f'mkdir "$TMPDIR/cache" && echo x >"$TMPDIR/cache/file"; echo "$TMPDIR" >{place}')
        contained = Containment(allowed=(level,))
        assert await PROGRAM.ask_version(binary, dict(os.environ), containment=contained) == RELEASE
        used = Path(place.read_text().strip())
        assert used != Path(temporary)
        assert not used.exists()
        assert list(Path(temporary).iterdir()) == []


async def test_without_a_temporary_directory_the_program_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    binary = wrapper(tmp_path, ":")
    assert await PROGRAM.ask_version(binary, dict(os.environ), containment=Containment()) == RELEASE


@pytest.mark.rule("N3")
async def test_the_configuration_selects_the_level_of_the_question(tmp_path: Path) -> None:
    # Without a guard, the program is a child of this process.
    binary = wrapper(tmp_path, "", 'echo "codex-cli 0.$PPID.0"')
    alone = CodexConfig(containment_max="process_group")
    assert await Versions(PROGRAM).of(binary, dict(os.environ), alone) == Version(0, os.getpid(), 0)


@pytest.mark.rule("N3")
async def test_no_program_is_asked_without_a_demanded_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    binary = wrapper(tmp_path, f"echo x >{asked}")
    versions = Versions(PROGRAM)
    with monkeypatch.context() as patch:
        patch.setattr(containment, "make_cgroup", lambda _mark: None)
        with pytest.raises(SpawnError) as caught:
            await versions.of(binary, dict(os.environ), CodexConfig(containment="cgroup"))
    assert "doctor" in str(caught.value.advice)
    assert not asked.exists()
    assert await versions.of(binary, dict(os.environ), CodexConfig()) == RELEASE
