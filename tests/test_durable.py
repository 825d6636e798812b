"""Test complete and durable file writes, and locks, with real processes."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codex_adapter.durable import (
    TEMPORARY_SUFFIX,
    is_locked,
    open_locked,
    sync_directory,
    write_all,
    write_new,
    write_whole,
)

MODES = st.none() | st.integers(0, 0o777)
LOCK = "import os,sys;from pathlib import Path;from codex_adapter.durable import open_locked;"


@pytest.fixture
def umask() -> int:
    old = os.umask(0)
    os.umask(old)
    return old


@given(old=st.none() | st.binary(max_size=100), new=st.binary(max_size=300_000), mode=MODES, alone=st.booleans())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.rule("C10", "I12", "Z9")
def test_a_reader_has_the_old_content_or_the_new(
    tmp_path: Path, umask: int, old: bytes | None, new: bytes, mode: int | None, alone: bool
) -> None:
    path = tmp_path / "file"
    path.unlink(missing_ok=True)
    if old is not None:
        path.write_bytes(old)
    before = None if old is None else path.open("rb")
    write_whole(path, new, mode=mode, sole_writer=alone)
    if before is not None:
        with before:
            assert before.read() == old
    bits = stat.S_IMODE(path.stat().st_mode)
    assert bits == (0o666 & ~umask if mode is None else mode)
    path.chmod(0o600)
    assert path.read_bytes() == new
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.rule("C10", "I12", "Z9")
@pytest.mark.parametrize("alone", [False, True])
def test_content_is_on_stable_storage_before_its_name_and_the_name_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(fd: int) -> None:
        sync(fd)
        done.append("directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else f"{os.fstat(fd).st_size} bytes")

    def replaced(old: str, new: str) -> None:
        replace(old, new)
        done.append("name")

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_whole(tmp_path / "file", b"content", sole_writer=alone)
    assert done == ["7 bytes", "name", "directory"]
    done.clear()
    write_whole(tmp_path / "file", b"content", sole_writer=alone, sync=False)
    assert done == ["name"]


@pytest.mark.rule("C10", "I12", "Z9")
@pytest.mark.parametrize("alone", [False, True])
def test_what_cannot_be_written_whole_leaves_the_old_content_and_nothing_beside_it(tmp_path: Path, alone: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(OSError, match="File too large"):
            write_whole(path, b"new" * 1000, sole_writer=alone)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == b"old"
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(path, b"new", sole_writer=alone)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.rule("I12", "Z9")
@pytest.mark.parametrize(("alone", "left"), [(True, 0), (False, 1)])
def test_a_killed_writer_leaves_a_file_that_a_sole_writer_replaces(tmp_path: Path, alone: bool, left: int) -> None:
    program = (
        "import os,signal,sys;from pathlib import Path;from codex_adapter import durable;"
        "os.replace=lambda *_:os.kill(os.getpid(),signal.SIGKILL);"
        f"durable.write_whole(Path(sys.argv[1]),b'new',sole_writer={alone})"
    )
    path = tmp_path / "file"
    path.write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", program, path], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    names = {entry.name for entry in tmp_path.iterdir()} - {"file"}
    assert len(names) == 1
    assert all(name.endswith(TEMPORARY_SUFFIX) for name in names)
    write_whole(path, b"newer", sole_writer=alone)
    assert path.read_bytes() == b"newer"
    assert len(list(tmp_path.iterdir())) == 1 + left


@pytest.mark.rule("Z9")
def test_many_processes_write_one_file_and_each_reader_finds_a_whole_one(tmp_path: Path) -> None:
    program = (
        "import sys;from pathlib import Path;from codex_adapter.durable import write_whole\n"
        "for n in range(50): write_whole(Path(sys.argv[1]),sys.argv[2].encode()*50_000,sync=False)"
    )
    path = tmp_path / "file"
    write_whole(path, b"0" * 50_000)
    writers = [subprocess.Popen([sys.executable, "-c", program, path, str(number)]) for number in range(3)]
    while any(writer.poll() is None for writer in writers):
        content = path.read_bytes()
        assert len(content) == 50_000
        assert len(set(content)) == 1
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.rule("S10")
def test_a_new_file_takes_no_place_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("missing")
    for name in ("file", "link"):
        with pytest.raises(FileExistsError):
            write_new(tmp_path / name, b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert not (tmp_path / "missing").exists()


@pytest.mark.rule("S10")
def test_a_new_file_is_for_its_owner_whatever_the_umask_is(tmp_path: Path) -> None:
    old = os.umask(0o777)
    try:
        write_new(tmp_path / "file", b"new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert (tmp_path / "file").read_bytes() == b"new"


@given(st.binary(max_size=2000), st.integers(1, 100))
@settings(max_examples=50, deadline=None)
@pytest.mark.rule("J12")
def test_all_is_written_however_little_the_system_takes_at_once(data: bytes, most: int) -> None:
    taken = bytearray()

    def write(_fd: int, rest: memoryview) -> int:
        taken.extend(rest[:most])
        return min(most, len(rest))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", write)
        write_all(0, data)
    assert bytes(taken) == data


@pytest.mark.rule("I15", "O9", "Z9", "J12")
def test_one_process_has_a_lock_until_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    program = f"{LOCK}open_locked(Path(sys.argv[1]));print(flush=True);sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(BlockingIOError):
            open_locked(path)
        with path.open() as file:
            assert is_locked(file.fileno())
        owner.kill()
        owner.wait()
    with path.open() as file:
        assert not is_locked(file.fileno())
        fd = open_locked(path)
        assert is_locked(file.fileno())
        os.close(fd)
        assert not is_locked(file.fileno())


@pytest.mark.rule("J12")
def test_a_lock_can_be_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    fd = open_locked(path)
    program = f"{LOCK}print(flush=True);open_locked(Path(sys.argv[1]),os.O_WRONLY,wait=True);print(flush=True)"
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == b"\n"
        assert waiting.poll() is None
        os.close(fd)
        assert waiting.stdout.readline() == b"\n"
    assert waiting.returncode == 0


@pytest.mark.rule("I15", "O9", "Z9")
def test_a_lock_is_no_link_and_leaks_no_descriptor(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("lock")
    with pytest.raises(OSError, match="symbolic links"):
        open_locked(tmp_path / "link")
    fd = open_locked(tmp_path / "lock")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(BlockingIOError):
        open_locked(tmp_path / "lock")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    os.close(fd)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        open_locked(tmp_path / "pipe", os.O_WRONLY)


@pytest.mark.rule("J12")
def test_a_directory_that_is_none_is_not_synced(tmp_path: Path) -> None:
    sync_directory(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        sync_directory(tmp_path / "file")
