"""Test agents that cannot start: a clear reason and no leftovers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_adapter import (
    BackendError,
    CodexConfig,
    InvalidRequestError,
    RunRequest,
    SpawnError,
    collect,
)
from codex_adapter.runtime.containment.containment import Level
from codex_adapter.testing import (
    WriteFile,
)

from ..cli.command import ADAPTER, Cli
from ..runtime.agents import WHOLE_TURN, backend, config
from .circumstances import needs, without_abilities
from .ordinary import IO, SPAWN, script

VERSION = '#!/bin/sh\nif [ "$1" = --version ]; then\n{}\necho codex-cli 0.163.0; exit\nfi\nexit 7\n'
"""A program that does something when it is asked for its release, which is after the request was checked."""
ASKS_VERSION = {"agent_api.exec.add_dirs.v1": {"dirs": ["/"]}}


def empty(path: Path) -> None:
    script(path, "")


def dangling(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


def own_interpreter(path: Path) -> None:
    script(path, f"#!{path}\n")


def interpreter_is_a_directory(path: Path) -> None:
    script(path, f"#!{path.parent}\n")


def endless_interpreters(path: Path) -> None:
    links = [path, *(path.with_name(f"interpreter{number}") for number in range(8))]
    for link, target in itertools.pairwise(links):
        script(link, f"#!{target}\n")
    script(links[-1], "#!/bin/true\n")


def removed_by_its_own_version(path: Path) -> None:
    script(path, VERSION.format(f"rm '{path}'"))


def replaced_by_its_own_version(path: Path) -> None:
    script(path, VERSION.format(f"rm '{path}'; printf '\\177ELFno program' >'{path}'; chmod 755 '{path}'"))


def made_a_directory_by_its_own_version(path: Path) -> None:
    script(path, VERSION.format(f"rm '{path}'; mkdir '{path}'"))


@pytest.mark.rule("S6", "N2")
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    ("make", "not_found"),
    [
        pytest.param(
            empty,
            False,
            marks=pytest.mark.fault(
                "spawning", "The binary is an empty file", "The adapter raises SpawnError (not executable)"
            ),
        ),
        pytest.param(
            dangling,
            True,
            marks=pytest.mark.fault(
                "spawning", "The binary is a dangling symlink", "The adapter raises SpawnError (not found)"
            ),
        ),
        pytest.param(
            own_interpreter,
            False,
            marks=pytest.mark.fault(
                "spawning",
                "The binary is a script that names itself as interpreter",
                "The adapter raises SpawnError (not executable)",
            ),
        ),
        pytest.param(
            interpreter_is_a_directory,
            False,
            marks=pytest.mark.fault(
                "spawning",
                "The interpreter of the binary is a directory",
                "The adapter raises SpawnError (not executable)",
            ),
        ),
        pytest.param(
            endless_interpreters,
            False,
            marks=pytest.mark.fault(
                "spawning",
                "The chain of interpreters exceeds the limit of the kernel",
                "The adapter raises SpawnError (not executable)",
            ),
        ),
        pytest.param(
            removed_by_its_own_version,
            True,
            marks=pytest.mark.fault(
                "spawning",
                "The binary is removed after the adapter found it",
                "The adapter raises SpawnError (not found)",
            ),
        ),
        pytest.param(
            replaced_by_its_own_version,
            False,
            marks=pytest.mark.fault(
                "spawning",
                "A file that is not a program replaces the binary after the adapter found it",
                "The adapter raises SpawnError (not executable)",
            ),
        ),
        pytest.param(
            made_a_directory_by_its_own_version,
            False,
            marks=pytest.mark.fault(
                "spawning",
                "A directory replaces the binary after the adapter found it",
                "The adapter raises SpawnError (not executable)",
            ),
        ),
    ],
)
async def test_a_binary_that_cannot_be_executed_is_a_spawn_error_and_leaves_nothing(
    tmp_path: Path, level: Level, make: Callable[[Path], None], not_found: bool
) -> None:
    make(tmp_path / "codex")
    runs = backend(level, CodexConfig(binary=str(tmp_path / "codex"), default_working_dir=str(tmp_path)))
    with pytest.raises(SpawnError) as caught:
        async with runs.open_run(RunRequest(prompt="x", extensions=ASKS_VERSION)):
            pass
    assert (str(caught.value), caught.value.not_found) == (SPAWN, not_found)
    assert caught.value.advice


@pytest.mark.rule("S6", "N2")
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.fault(
    "spawning", "Another process writes to the binary (ETXTBSY)", "The adapter raises SpawnError (not executable)"
)
async def test_a_binary_that_is_being_written_to_is_a_spawn_error(tmp_path: Path, level: Level) -> None:
    binary = tmp_path / "codex"
    binary.write_bytes(Path("/bin/true").read_bytes())
    binary.chmod(0o755)
    with binary.open("ab"), pytest.raises(SpawnError) as caught:
        async with backend(level, CodexConfig(binary=str(binary))).open_run(RunRequest(prompt="x")):
            pass
    assert not caught.value.not_found


@pytest.mark.rule("S4", "X2")
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.fault(
    "spawning",
    "The working directory is removed after the check",
    "The adapter raises BackendError `io` with advice on the directory",
)
async def test_a_working_directory_that_vanishes_is_an_io_error(tmp_path: Path, level: Level) -> None:
    work = tmp_path / "work"
    work.mkdir()
    binary = script(tmp_path / "codex", VERSION.format(f"rmdir '{work}'"))
    runs = backend(level, CodexConfig(binary=str(binary)))
    with pytest.raises(BackendError) as caught:
        async with runs.open_run(RunRequest(prompt="x", working_dir=str(work), extensions=ASKS_VERSION)):
            pass
    assert (str(caught.value), caught.value.failure) == (IO, "io")
    assert "working directory" in str(caught.value.advice)


@pytest.mark.rule("S4", "E1")
@pytest.mark.fault(
    "spawning",
    "The working directory denies access",
    "The adapter raises BackendError `io` with advice on the directory; the status is 125",
)
def test_a_working_directory_that_may_not_be_entered_is_an_io_error(cli: Cli) -> None:
    needs(without_abilities())
    (cli.directory / "closed").mkdir(mode=0o600)
    words = ("run", "--codex", cli.agent(), "--working-dir", "closed", "Hi.")
    done = cli.run(*words, program=(*without_abilities(), *ADAPTER))
    assert (done.status, done.completion["error"]["message"]) == (125, IO)
    assert "working directory" in done.complaint


@pytest.mark.rule("S6", "E1")
@pytest.mark.fault(
    "spawning",
    "Only other users may execute the binary",
    "The adapter raises SpawnError (not executable); the status is 126",
)
def test_a_binary_that_we_may_not_execute_is_a_spawn_error(cli: Cli) -> None:
    needs(without_abilities())
    binary = script(cli.directory / "codex", "#!/bin/sh\n")
    binary.chmod(0o655)
    done = cli.run("run", "--codex", str(binary), "Hi.", program=(*without_abilities(), *ADAPTER))
    assert (done.status, done.completion["error"]["message"]) == (126, SPAWN)


@pytest.mark.rule("S6")
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.fault(
    "spawning",
    "An environment variable exceeds the limit of the kernel (E2BIG)",
    "The adapter raises SpawnError without any part of the value",
)
async def test_a_variable_that_is_too_long_is_a_spawn_error(tmp_path: Path, level: Level) -> None:
    runs = backend(level, config(tmp_path, *WHOLE_TURN))
    with pytest.raises(SpawnError) as caught:
        async with runs.open_run(RunRequest(prompt="x", env={"LONG": "hunter2" * 100_000})):
            pass
    assert not caught.value.not_found
    assert "hunter2" not in f"{caught.value} {caught.value.advice}"


@pytest.mark.rule("Q5", "S6")
@pytest.mark.fault(
    "spawning",
    "The working directory or an environment variable contains NUL",
    "The adapter raises InvalidRequestError",
)
@pytest.mark.fault(
    "spawning", "The path of the binary contains NUL", "The adapter raises InvalidRequestError or SpawnError"
)
async def test_what_holds_nul_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    settings = config(tmp_path, WriteFile("started"))
    for request in (
        RunRequest(prompt="x", working_dir="a\0b"),
        RunRequest(prompt="x", env={"A\0": "b"}),
        RunRequest(prompt="x", env={"A": "b\0"}),
    ):
        with pytest.raises(InvalidRequestError):
            await collect(request, config=settings)
    for binary in ("a\0b", "./a\0b"):
        with pytest.raises((InvalidRequestError, SpawnError)):
            await collect(RunRequest(prompt="x"), config=CodexConfig(binary=binary))
    assert not (tmp_path / "started").exists()
