"""Test the journal with a damaged directory, disk or file."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import stat
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from codex_adapter.daemon.journal import Journal, JournalFile

from ..cli.command import ADAPTER, Cli
from ..faults.circumstances import after, in_namespace, needs, without_abilities
from ..needs import missing
from .journals import begun, completion, event, keep, pages, seqs

pytestmark = pytest.mark.rule("J12", "J13", "J14")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the journals are."""
    return tmp_path / "journal"


@pytest.fixture
def journal(directory: Path) -> Journal:
    """An empty journal."""
    return Journal(directory)


DAMAGED = [
    b"",
    b"not JSON",
    b"\0" * 5000,
    b'{"time":"2026-01-01T00:00:00.000Z","type":"event","seq":2,"te',
    b'{"type":"event"}',
    b'{"type":"event","seq":-1}',
    b'{"type":"event","seq":"2"}',
    b'{"type":"strange","seq":2}',
    b'{"type":"event","seq":2,"text":"\xff\xfe"}',
    b'{"type":"event","seq":2,"data":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    b"[]",
    b"x" * 3_000_000,
]


@pytest.mark.fault(
    "daemon",
    "Lines of a journal are not JSON, not UTF-8 or not records",
    "The reader returns all other lines unchanged",
)
@pytest.mark.parametrize("damage", DAMAGED, ids=range(len(DAMAGED)))
@pytest.mark.parametrize("place", [0, 1, 2, 3])
async def test_a_damaged_line_hides_no_other(journal: Journal, directory: Path, damage: bytes, place: int) -> None:
    await keep(journal, "r", event(0), event(1), completion(2))
    path = directory / "r.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:place], damage + b"\n", *lines[place:]]))
    for from_seq in range(4):
        found = await pages(journal, "r", from_seq)
        assert [seq for page in found for seq in seqs(page)] == list(range(from_seq, 3))
        for page in found:
            for record in page.records:
                msgspec.json.decode(bytes(record).decode(), type=dict[str, Any])


async def test_a_damaged_line_in_the_place_of_a_record_hides_no_other(journal: Journal, directory: Path) -> None:
    await keep(journal, "r", event(0), event(1), event(2), completion(3))
    path = directory / "r.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"?" * (len(lines[1]) - 1) + b"\n" + lines[2] + lines[3])
    assert seqs(await journal.read("r", 0)) == [0, 2, 3]
    assert seqs(await journal.read("r", 1)) == [2, 3]


async def test_an_empty_journal_is_that_of_a_run_without_records(journal: Journal) -> None:
    await keep(journal, "r")
    page = await journal.read("r", 0)
    assert (page.records, page.completion, page.next_seq, page.more, page.live) == ([], None, 0, False, False)


def _link(path: Path, target: Path) -> None:
    target.write_bytes(event(0) + b"torn")
    path.symlink_to(target)


def _dangling(path: Path, target: Path) -> None:
    path.symlink_to(target)


def _pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def _directory(path: Path, _: Path) -> None:
    path.mkdir()


def _device(path: Path, _: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))


@pytest.mark.fault(
    "daemon",
    "A link, FIFO, directory or device has the name of a journal",
    "The run is refused; the daemon does not write to it or wait for it",
)
@pytest.mark.parametrize("put", [_link, _dangling, _pipe, _directory, _device])
async def test_what_is_no_file_is_neither_read_nor_written(
    journal: Journal, directory: Path, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    target = tmp_path / "elsewhere"
    try:
        put(directory / "r.jsonl", target)
    except PermissionError:
        missing("root")
    before = target.read_bytes() if target.exists() else None
    with pytest.raises(FileExistsError):
        await begun(journal, "r")
    with trio.fail_after(60), pytest.raises(OSError, match=r"."):
        await journal.read("r", 0)
    assert (target.read_bytes() if target.exists() else None) == before


async def test_the_first_line_of_a_run_that_begins_meanwhile_is_not_cut_off(
    journal: Journal, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(journal, "r")
    path = directory / "r.jsonl"
    really = fcntl.flock
    with ExitStack() as writing, monkeypatch.context() as slow:

        def begin(file: Any, operation: int) -> None:
            really(file, operation)
            if operation == fcntl.LOCK_UN:
                fd = os.open(path, os.O_WRONLY | os.O_APPEND)
                writing.callback(os.close, fd)
                really(fd, fcntl.LOCK_EX)
                os.write(fd, b'{"time":')

        slow.setattr(fcntl, "flock", begin)
        assert seqs(await journal.read("r", 0)) == []
        assert path.read_bytes() == b'{"time":'


@pytest.mark.fault("daemon", "The journal's disk is full", "The daemon removes the partial record from the journal")
async def test_what_a_full_disk_has_no_room_for_is_taken_back(tmp_path: Path) -> None:
    """A file system of 64 KB where we may mount one, else a limit on the size of files."""
    place = tmp_path / "small"
    place.mkdir()
    script = f"""
import resource, signal, sys, trio
from pathlib import Path
from codex_adapter.daemon.journal import Journal
from tests.daemon.journals import begun, completion, event, seqs
journal = Journal(Path({str(place)!r}))
async def main():
    file = await begun(journal, "r")
    count = 0
    try:
        while True:
            await file.append(event(count, "x" * 3000) + event(count + 1, "y" * 3000))
            count += 2
    except OSError as error:
        print(type(error).__name__, error.errno)
    assert 4 <= count < 40, count
    assert Path({str(place)!r}, "r.jsonl").read_bytes().endswith(b"}}\\n")
    await file.append(completion(count))
    assert seqs(await journal.read("r", 0)) == list(range(count + 1))
trio.run(main)
"""
    mounted = in_namespace(f"mount -t tmpfs -o size=64k none '{place}'")
    limited = after("resource.setrlimit(resource.RLIMIT_FSIZE, (64_000, 64_000))")
    for program, number in ((mounted, errno.ENOSPC), (limited, errno.EFBIG)):
        needs(program)
        done = await trio.run_process(
            [*program, ADAPTER[0], "-c", script],
            cwd=Path(__file__).parents[2],
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.decode() == f"OSError {number}\n"


@pytest.mark.fault(
    "daemon", "The journal's disk fails (EIO)", "The daemon removes the record that did not reach stable storage"
)
async def test_what_does_not_reach_stable_storage_is_taken_back(
    journal: Journal, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = await begun(journal, "r")
    await file.append(event(0))

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "the disk fails")

    with monkeypatch.context() as failing:
        failing.setattr(os, "fdatasync", fail)
        with pytest.raises(OSError, match="disk"):
            await file.append(event(1))
    await file.append(completion(1))
    await file.close()
    assert seqs(await journal.read("r", 0)) == [0, 1]


async def test_a_first_write_that_fails_is_made_again_with_its_directory(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    file = await begun(journal, "r")

    def fail(fd: int) -> None:
        synced.append(fd)
        raise OSError(errno.EIO, "the disk fails")

    with monkeypatch.context() as failing:
        failing.setattr(os, "fsync", fail)
        for _ in range(2):
            with pytest.raises(OSError, match="disk"):
                await file.append(event(0))
    assert len(synced) == 2
    await file.append(event(0))
    assert seqs(await journal.read("r", 0)) == [0]
    await file.close()


async def test_a_file_that_takes_nothing_is_an_error() -> None:
    file = JournalFile(Path("/dev/full"), set(), trio.CapacityLimiter(1))
    for _ in range(2):
        with pytest.raises(OSError, match="space"):
            await file.append(event(0))
    await file.close()


@pytest.mark.fault("daemon", "A journal is removed during its run", "The next record of the run is an `io` error")
async def test_a_removed_file_takes_nothing_any_more(journal: Journal, directory: Path) -> None:
    file = await begun(journal, "r")
    await file.append(event(0))
    (directory / "r.jsonl").unlink()
    with pytest.raises(FileNotFoundError):
        await file.append(event(1))
    await file.close()
    with pytest.raises(FileNotFoundError):
        await journal.read("r", 0)


async def test_a_removed_directory_takes_nothing_any_more(journal: Journal, directory: Path) -> None:
    file = await begun(journal, "r")
    (directory / "r.jsonl").unlink()
    directory.rmdir()
    with pytest.raises(FileNotFoundError):
        await file.append(event(0))
    with pytest.raises(FileNotFoundError):
        await begun(journal, "s")
    await file.withdraw()


UNUSABLE = {
    "a file": (),
    "below a file": (),
    "a dangling link": (),
    "a loop of links": (),
    "not writable": without_abilities(),
    "not readable": without_abilities(),
    "not to be made": without_abilities(),
    "read-only": in_namespace("mount -o remount,bind,ro /"),
    "too long": (),
}


@pytest.mark.fault(
    "daemon",
    "The directory of the journal cannot be created or is not writable",
    "The daemon reports a usage error and exits with status 2",
)
@pytest.mark.parametrize("how", UNUSABLE)
def test_a_directory_that_cannot_be_used_is_a_wrong_command_line(tmp_path: Path, how: str) -> None:
    place = tmp_path / "journal"
    match how:
        case "a file":
            place.touch()
        case "below a file":
            place.touch()
            place = place / "below"
        case "a dangling link" | "a loop of links":
            place.symlink_to("nowhere" if how == "a dangling link" else "journal")
        case "not writable" | "not readable":
            place.mkdir(0o500 if how == "not writable" else 0o300)
        case "not to be made":
            place.mkdir(0o500)
            place = place / "a" / "b"
        case "too long":
            place = place / ("x" * 300)
    needs(UNUSABLE[how])
    done = Cli(tmp_path).run("serve", "--journal", str(place), program=(*UNUSABLE[how], *ADAPTER))
    assert (done.status, done.stdout) == (2, b"")
    assert "--journal: " in done.stderr
    assert str(place) not in done.stderr


LONG_LINES = {
    "zeros": b"\0",
    "what looks like a record": b'{"time":"2026-01-01T00:00:00.000Z","type":"event","text":"\0',
}


@pytest.mark.rule("J13")
@pytest.mark.fault("daemon", "A line of the journal is 1 GiB of zeros", "The reader skips it once in bounded memory")
@pytest.mark.parametrize("size", [2**29, pytest.param(2**30, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("beginning", LONG_LINES.values(), ids=LONG_LINES.keys())
async def test_a_damaged_line_costs_bounded_memory_however_long_it_is(
    journal: Journal, directory: Path, beginning: bytes, size: int
) -> None:
    await keep(journal, "r", event(0), event(1))
    path = directory / "r.jsonl"
    with path.open("ab") as file:
        file.write(beginning)
        file.truncate(file.tell() + size)  # a hole, which reads as zeros and takes no disk
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
        for record in (event(2), event(3), completion(4)):
            file.write(b'{"time":"2026-01-01T00:00:00.000Z",' + record[1:])
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + 400 * 2**20, resource.RLIM_INFINITY))
    try:
        for from_seq in (0, 3):
            assert seqs(await journal.read("r", from_seq)) == list(range(from_seq, 5))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
