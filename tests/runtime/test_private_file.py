"""Test the file with the output schema: private, and removed with its run."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_adapter.errors import BackendError
from codex_adapter.runtime.containment.containment import Level
from codex_adapter.runtime.containment.marks import directory_name, new_mark
from codex_adapter.runtime.private_file import LONGEST_DIRECTORY, private_directory, private_file
from codex_adapter.testing import Hang

from ..waiting import until
from .agents import WHOLE_TURN
from .survivors import Survivors
from .test_containment_limits import adapter

pytestmark = pytest.mark.rule("S10", "Q3")

SCHEMA = {"type": "object", "properties": {"é": {}}}
CONTENT = json.dumps(SCHEMA).encode()


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest, temporary: Path) -> Iterator[None]:
    """A umask as lax, as usual and as strict as there is; from when the temporary directory exists."""
    previous = os.umask(request.param)
    yield
    os.umask(previous)


@pytest.mark.usefixtures("umask")
async def test_the_schema_is_in_a_private_file_for_as_long_as_the_run(temporary: Path) -> None:
    async with private_file(new_mark(), "output-schema.json", CONTENT) as path:
        assert json.loads(Path(path).read_text()) == SCHEMA
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700
        assert Path(path).parent.parent == temporary
    assert list(temporary.iterdir()) == []


async def test_the_schema_file_goes_when_the_run_fails(temporary: Path) -> None:
    with pytest.raises(KeyError):
        async with private_file(new_mark(), "output-schema.json", b"{}"):
            raise KeyError
    assert list(temporary.iterdir()) == []


@pytest.mark.rule("X2")
@pytest.mark.fault(
    "environment",
    "No temporary directory exists for the schema",
    "The adapter raises BackendError `io` and starts no process",
)
async def test_a_schema_that_cannot_be_written_is_an_io_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "hunter2"))
    with pytest.raises(BackendError) as caught:
        async with private_file(new_mark(), "output-schema.json", b"{}"):
            pytest.fail("there is no such directory")
    assert str(caught.value) == "codex backend error: io (details redacted when unsafe)"
    assert "hunter2" not in str(caught.value.advice)


@pytest.mark.fault(
    "environment",
    "Another user created the directory of the schema",
    "The adapter raises BackendError `io` and leaves the content unchanged",
)
async def test_a_directory_that_is_there_already_is_not_used(temporary: Path) -> None:
    mark = new_mark()
    theirs = temporary / directory_name(mark)
    theirs.mkdir()
    with pytest.raises(BackendError):
        async with private_file(mark, "output-schema.json", b"{}"):
            pytest.fail("who made it could read what is in it")


@pytest.mark.fault("signals", "SIGKILL ends the adapter while a schema file exists", "The guard removes the file")
def test_a_guard_removes_the_file_of_an_adapter_that_was_killed(
    tmp_path: Path, temporary: Path, guard_level: Level, survivors: Survivors
) -> None:
    with adapter([*WHOLE_TURN[:2], Hang()], survivors, tmp_path, allowed=[guard_level], schema=True) as started:
        [file] = temporary.glob("codex-adapter-*/output-schema.json")
        started.process.kill()
        assert survivors.soon() == []
    until(lambda: not file.parent.exists())


async def test_the_next_run_removes_what_nobody_could_remove(
    tmp_path: Path, temporary: Path, survivors: Survivors
) -> None:
    def directories() -> list[Path]:
        return [path for path in temporary.iterdir() if path.is_dir()]

    with adapter([*WHOLE_TURN[:2], Hang()], survivors, tmp_path, allowed=["process_group"], schema=True) as started:
        async with private_file(new_mark(), "output-schema.json", b"{}"):
            assert len(directories()) == 2
        started.process.send_signal(signal.SIGKILL)
        started.process.wait()
        assert len(directories()) == 1
    async with private_file(new_mark(), "output-schema.json", b"{}"):
        assert len(directories()) == 1
    assert directories() == []


async def test_a_private_directory_is_removed_with_all_that_is_in_it(temporary: Path) -> None:
    async with private_directory(new_mark()) as path:
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o700
        assert len(os.fsencode(path)) <= LONGEST_DIRECTORY
        (Path(path) / "a" / "b").mkdir(parents=True)
        (Path(path) / "a" / "b" / "file").touch()
        (Path(path) / "link").symlink_to(temporary)
        (Path(path) / "a").chmod(0o500)
    assert temporary.exists()
    assert not Path(path).exists()


async def test_a_private_directory_has_a_short_path_whatever_the_temporary_directory_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("t" * LONGEST_DIRECTORY)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    async with private_directory(new_mark()) as path:
        assert Path(path).parent == Path("/tmp")
    assert not Path(path).exists()
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    async with private_directory(new_mark()) as path:
        assert Path(path).parent == Path("/tmp")
