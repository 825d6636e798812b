"""Test the journal with real files: it returns every appended record."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
import trio
import trio.testing
from hypothesis import example, given
from hypothesis import strategies as st

from codex_adapter.daemon.journal import Journal, JournalFile

from .journals import begun, completion, event, keep, pages, seqs, writer_elsewhere

pytestmark = pytest.mark.rule("J12", "J13", "J14")

PAGE = 1024 * 1024
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where a hundred examples need not wait for a disk."""
TORN = b'{"time":"2026-01-01T00:00:00.000Z","type":"event","seq":3,"te'


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the journals are."""
    return tmp_path / "journal"


@pytest.fixture
def journal(directory: Path) -> Journal:
    """An empty journal."""
    return Journal(directory)


async def test_a_line_is_the_record_with_the_time_before_it(journal: Journal, directory: Path) -> None:
    before = datetime.now(UTC)
    await keep(journal, "r", event(0, "“ü”") + event(1), completion(2))
    lines = (directory / "r.jsonl").read_bytes().splitlines(keepends=True)
    for line, record in zip(lines, (event(0, "“ü”"), event(1), completion(2)), strict=True):
        found = re.fullmatch(rb'\{"time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)",(.*\n)', line, re.DOTALL)
        assert found is not None
        assert b"{" + found[2] == record
        written = datetime.fromisoformat(found[1].decode())
        assert before - timedelta(milliseconds=1) <= written <= datetime.now(UTC)


@pytest.mark.rule("C25")
@pytest.mark.fault(
    "daemon",
    "An agent replaces the directory of the journals by a link",
    "All journals of the daemon are in the directory that it found at its start",
)
async def test_a_link_in_the_place_of_the_directory_leads_no_journal_away(
    journal: Journal, directory: Path, tmp_path: Path
) -> None:
    await keep(journal, "before", event(0))
    directory.rename(tmp_path / "moved")
    (tmp_path / "target").mkdir()
    directory.symlink_to(tmp_path / "target")
    await keep(journal, "after", event(0), completion(1))
    assert seqs(await journal.read("after", 0)) == [0, 1]
    assert sorted(path.name for path in (tmp_path / "moved").iterdir()) == ["after.jsonl", "before.jsonl"]
    assert list((tmp_path / "target").iterdir()) == []


async def test_a_directory_that_is_made_again_is_used_and_a_link_in_its_place_is_not(
    journal: Journal, directory: Path, tmp_path: Path
) -> None:
    (tmp_path / "target").mkdir()
    directory.rmdir()
    directory.symlink_to(tmp_path / "target")
    with pytest.raises(NotADirectoryError):
        await keep(journal, "r", event(0))
    directory.unlink()
    directory.mkdir()
    await keep(journal, "r", event(0))
    assert [path.name for path in directory.iterdir()] == ["r.jsonl"]
    assert list((tmp_path / "target").iterdir()) == []


async def test_a_page_is_what_stands_in_the_file(journal: Journal, directory: Path) -> None:
    await keep(journal, "r", event(0), event(1), completion(2))
    page = await journal.read("r", 0)
    assert page.completion is not None
    assert (
        b"".join(bytes(it) + b"\n" for it in (*page.records, page.completion)) == (directory / "r.jsonl").read_bytes()
    )
    assert (page.next_seq, page.more, page.live) == (3, False, False)


async def test_a_live_run_has_no_completion_yet_and_goes_on(journal: Journal) -> None:
    file = await begun(journal, "r")
    empty = await journal.read("r", 0)
    assert (seqs(empty), empty.next_seq, empty.more, empty.live) == ([], 0, False, True)
    await file.append(event(0) + event(1))
    page = await journal.read("r", 1)
    assert (seqs(page), page.completion, page.next_seq, page.more, page.live) == ([1], None, 2, False, True)
    await file.append(completion(2))
    await file.close()
    page = await journal.read("r", page.next_seq)
    assert (seqs(page), page.completion is not None, page.next_seq, page.live) == ([2], True, 3, False)


@given(
    sizes=st.lists(st.sampled_from([0, 3_000, 300_000, PAGE - 200, PAGE]), max_size=4),
    finished=st.booleans(),
    data=st.data(),
)
def test_from_every_seq_the_pages_are_the_rest(sizes: list[int], finished: bool, data: st.DataObject) -> None:
    count = len(sizes) + finished
    from_seq = data.draw(st.integers(0, count + 2))

    async def read_them() -> None:
        with tempfile.TemporaryDirectory(dir=MEMORY) as place:
            journal = Journal(Path(place))
            records = [event(seq, "x" * size) for seq, size in enumerate(sizes)]
            await keep(journal, "r", b"".join(records), *([completion(len(sizes))] if finished else []))
            found = await pages(journal, "r", from_seq)
            assert [seq for page in found for seq in seqs(page)] == list(range(from_seq, count))
            assert found[-1].next_seq == max(from_seq, count)
            assert [page.completion is not None for page in found[:-1]] == [False] * (len(found) - 1)
            assert (found[-1].completion is not None) == (finished and from_seq < count)
            for page in found:
                # The last record is what makes a page full.
                assert sum(map(len, page.records[:-1])) < PAGE

    trio.run(read_them)


@given(cut=st.integers(0, 400))
@example(cut=0)
def test_wherever_the_last_write_was_torn_whole_lines_stay(cut: int) -> None:
    async def read_them() -> None:
        with tempfile.TemporaryDirectory(dir=MEMORY) as place:
            journal = Journal(Path(place))
            await keep(journal, "r", event(0), event(1), completion(2))
            path = Path(place, "r.jsonl")
            data = path.read_bytes()[:-cut] if cut else path.read_bytes()
            path.write_bytes(data)
            whole = data[: data.rfind(b"\n") + 1]
            page = await journal.read("r", 0)
            assert seqs(page) == list(range(whole.count(b"\n")))
            assert path.read_bytes() == whole

    trio.run(read_them)


@pytest.mark.parametrize("torn", [TORN, b"\0" * 300_000, b"x" * 200_000], ids=["line", "zeros", "long"])
async def test_a_torn_line_is_cut_off(journal: Journal, directory: Path, torn: bytes) -> None:
    await keep(journal, "r", event(0) + event(1))
    path = directory / "r.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert seqs(await journal.read("r", 0)) == [0, 1]
    assert path.read_bytes() == whole


async def test_nothing_but_a_torn_line_leaves_an_empty_file(journal: Journal, directory: Path) -> None:
    await keep(journal, "r")
    (directory / "r.jsonl").write_bytes(TORN)
    page = await journal.read("r", 0)
    assert (seqs(page), page.next_seq, page.more, page.live) == ([], 0, False, False)
    assert (directory / "r.jsonl").read_bytes() == b""


async def test_a_torn_line_stays_while_its_writer_lives_in_another_process(directory: Path) -> None:
    path = directory / "r.jsonl"
    with writer_elsewhere(directory, "r", event(0) + event(1)) as writer:
        journal = Journal(directory)
        data = path.read_bytes()
        page = await journal.read("r", 0)
        assert (seqs(page), page.next_seq, page.more, page.live) == ([0, 1], 2, False, True)
        assert path.read_bytes() == data
        with pytest.raises(FileExistsError):
            await begun(journal, "r")
        writer.kill()
        writer.wait()
    page = await journal.read("r", 0)
    assert (seqs(page), page.live) == ([0, 1], False)
    assert path.read_bytes() == data[: data.rfind(b"\n") + 1]


async def test_many_readers_at_once_all_see_that_a_run_is_over(journal: Journal, directory: Path) -> None:
    await keep(journal, "r", event(0, "x" * 100_000) * 1, *(event(seq) for seq in range(1, 50)), completion(50))
    with (directory / "r.jsonl").open("ab") as file:
        file.write(TORN)
    lives: list[bool] = []

    async def read(journal: Journal) -> None:
        for _ in range(20):
            page = await journal.read("r", 0)
            assert seqs(page) == list(range(51))
            lives.append(page.live)

    async with trio.open_nursery() as nursery:
        for reader in (journal, journal, Journal(directory), Journal(directory)):
            nursery.start_soon(read, reader)
    assert lives == [False] * 80


async def test_readers_never_take_the_place_of_the_writer(journal: Journal, directory: Path) -> None:
    file = await begun(journal, "r")
    await file.append(event(0))
    other = Journal(directory)

    async def read() -> None:
        seen = 0
        while seen < 200:
            page = await other.read("r", seen)
            assert page.live
            assert seqs(page) == list(range(seen, page.next_seq))
            seen = page.next_seq

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            nursery.start_soon(read)
            for seq in range(1, 200, 2):
                await file.append(event(seq, "x" * seq * 100) + event(seq + 1))
    await file.close()


async def test_a_run_that_exists_is_never_written_to_again(journal: Journal, directory: Path) -> None:
    await keep(journal, "r", event(0))
    for other in (journal, Journal(directory)):
        with pytest.raises(FileExistsError):
            await begun(other, "r")


async def test_a_refused_run_leaves_no_file(journal: Journal, directory: Path) -> None:
    await (await begun(journal, "r")).withdraw()
    assert list(directory.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        await journal.read("r", 0)
    await keep(journal, "r", event(0))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
async def test_only_the_owner_may_read_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    directory = tmp_path / "journal"
    before = os.umask(umask & ~0o700)
    try:
        journal = Journal(directory)
        os.umask(umask)
        await keep(journal, "r", event(0))
    finally:
        os.umask(before)
    assert stat.S_IMODE((directory / "r.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


async def test_a_journal_may_lie_in_directories_that_are_not_there_yet(tmp_path: Path) -> None:
    await keep(Journal(tmp_path / "a" / "b" / "c"), "r", event(0))
    assert (tmp_path / "a" / "b" / "c" / "r.jsonl").exists()


async def test_a_relative_directory_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    journal = Journal(Path("journal"))
    monkeypatch.chdir("/")
    await keep(journal, "r", event(0))
    assert (tmp_path / "journal" / "r.jsonl").exists()


async def test_a_cancelled_append_is_whole(journal: Journal, directory: Path) -> None:
    file = await begun(journal, "r")
    with trio.CancelScope() as scope:
        scope.cancel()
        await file.append(event(0))
    await file.close()
    assert seqs(await journal.read("r", 0)) == [0]


async def test_a_cancellation_in_the_middle_of_an_append_does_not_tear_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reading, True)
    file = JournalFile(tmp_path / "pipe", set(), trio.CapacityLimiter(1))
    record = event(0, "x" * 1_000_000)
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_drain_once_cancelled, scope, reading, len(record))
            with pytest.raises(OSError, match="argument"):  # a pipe has no stable storage
                await file.append(record)
    await file.close()
    os.close(reading)


async def _drain_once_cancelled(scope: trio.CancelScope, reading: int, size: int) -> None:
    with trio.CancelScope(shield=True):
        await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
        data = b""
        while len(data) < size:
            data += await trio.to_thread.run_sync(os.read, reading, size)
    assert msgspec.json.decode(data)["seq"] == 0


async def test_a_page_of_a_large_journal_costs_little_more_than_itself(journal: Journal, directory: Path) -> None:
    count, text = 1_000, "x" * 100_000
    await (await begun(journal, "r")).close()
    with (directory / "r.jsonl").open("ab") as file:
        for seq in range(count):
            file.write(b'{"time":"2026-01-01T00:00:00.000Z",' + event(seq, text)[1:])
    assert (directory / "r.jsonl").stat().st_size > 100_000_000
    for from_seq in (0, 1, count // 2, count - 1, count):
        before = _bytes_read()
        page = await journal.read("r", from_seq)
        assert _bytes_read() - before < 16 * PAGE
        assert seqs(page) == list(range(from_seq, min(from_seq + len(page.records), count)))
        assert page.records or from_seq == count


def _bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])
