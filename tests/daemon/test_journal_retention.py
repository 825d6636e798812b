"""Test that old journals are removed, live ones are kept, and a hung file system blocks no run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import trio

from codex_adapter.daemon import journal as journal_module
from codex_adapter.daemon.journal import Journal
from codex_adapter.daemon.journal_retention import remove_older

from ..waiting import until
from .agents import BRIEF, HANGING
from .journals import begun, completion, event, keep, writer_elsewhere
from .workshop import Workshop

pytestmark = pytest.mark.rule("J20")

DAY = 86_400


def age(path: Path, days: float) -> Path:
    """Let a file look as if it was last written to so many days ago."""
    then = time.time() - days * DAY
    os.utime(path, (then, then))
    return path


async def kept(journal: Journal, directory: Path, run_id: str, *records: bytes, days: float) -> Path:
    """Write a journal that a daemon has begun, and that was last written to so many days ago."""
    await keep(journal, run_id, *records)
    path = directory / f"{run_id}.jsonl"
    first = b'{"time":"2026-01-01T00:00:00.000Z","type":"run","run_id":"%s","agent_kind":"codex"}\n' % run_id.encode()
    path.write_bytes(first + path.read_bytes())
    return age(path, days)


def names(directory: Path) -> list[str]:
    """Return what is in a directory."""
    return sorted(path.name for path in directory.iterdir())


async def test_what_is_older_is_removed_finished_or_not(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for run_id, days in (("old", 4.0), ("new", 2.0), ("now", 0.0)):
        await kept(journal, tmp_path, run_id, event(0), completion(1), days=days)
    await kept(journal, tmp_path, "killed", event(0), days=4)
    assert remove_older(tmp_path, time.time() - 3 * DAY, set()) == 2
    assert names(tmp_path) == ["new.jsonl", "now.jsonl"]
    await keep(journal, "old", event(0))  # the id is free again


async def test_an_empty_file_is_removed_by_its_age(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for name, days in (("old.jsonl", 40), ("new.jsonl", 1), ("notes.txt", 40)):
        (tmp_path / name).touch()
        age(tmp_path / name, days)
    waiting = await begun(journal, "waiting")
    age(tmp_path / "waiting.jsonl", 40)
    assert remove_older(tmp_path, time.time() - 3 * DAY, {tmp_path / "waiting.jsonl"}) == 1
    assert names(tmp_path) == ["new.jsonl", "notes.txt", "waiting.jsonl"]
    await waiting.withdraw()


@pytest.mark.fault("daemon", "The journal of an active run is older than the age limit", "The daemon keeps it")
async def test_the_journal_of_a_live_run_stays_however_old(tmp_path: Path) -> None:
    journal = Journal(tmp_path, keep_days=1)
    waiting, live = await begun(journal, "waiting"), await begun(journal, "live")
    await live.append(event(0))
    with writer_elsewhere(tmp_path, "elsewhere", event(0)):
        for name in names(tmp_path):
            age(tmp_path / name, 400)
        with trio.move_on_after(0.5):
            await journal.remove_old()
        assert names(tmp_path) == ["elsewhere.jsonl", "live.jsonl", "waiting.jsonl"]
        assert remove_older(tmp_path, time.time(), {tmp_path / "waiting.jsonl"}) == 0, "the locks do not hold"
    await live.append(completion(1), last=True)
    await waiting.withdraw()
    await live.close()


async def test_files_that_are_no_journals_stay(tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(b'{"time":"2026-01-01T00:00:00.000Z","type":"event"}\n')
    place = tmp_path / "journal"
    place.mkdir()
    (place / "notes.txt").write_bytes(outside.read_bytes())
    (place / "mine.jsonl").write_text('{"my":"data"}\n')
    (place / "log.jsonl").write_text('{"time":"2026-01-01T00:00:00Z","level":"INFO","msg":"of another program"}\n')
    (place / "other.jsonl").write_text(
        '{"time":"2026-01-01T00:00:00.000Z","type":"run","run_id":"its name was another"}\n'
    )
    (place / "link.jsonl").symlink_to(outside)
    (place / "directory.jsonl").mkdir()
    os.mkfifo(place / "pipe.jsonl")
    before = names(place)
    for path in (outside, *(place / name for name in before if name != "link.jsonl")):
        age(path, 400)
    with trio.fail_after(60):
        assert await trio.to_thread.run_sync(remove_older, place, time.time(), set()) == 0
    assert names(place) == before
    assert outside.exists()


async def test_it_is_done_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "_BETWEEN_REMOVALS", 0.01)
    journal = Journal(tmp_path, keep_days=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(journal.remove_old)
        for run_id in ("a", "b"):
            path = await kept(journal, tmp_path, run_id, event(0), completion(1), days=2)
            await trio.to_thread.run_sync(until, lambda path=path: not path.exists())
        nursery.cancel_scope.cancel()


@pytest.mark.rule("K7")
@pytest.mark.fault(
    "daemon", "The journal's file system hangs while the daemon removes old journals", "No run waits for it"
)
async def test_a_removal_that_hangs_holds_up_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    reached, calls = trio.Event(), 0

    def hang(*_words: object) -> int:
        nonlocal calls
        calls += 1
        trio.from_thread.run_sync(reached.set)
        os.read(reading, 1)
        return 0

    monkeypatch.setattr(journal_module, "remove_older", hang)
    monkeypatch.setattr(journal_module, "_BETWEEN_REMOVALS", 0.0)
    journal = Journal(tmp_path, keep_days=1)
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.remove_old)
            await reached.wait()
            await keep(journal, "r", event(0), completion(1))
            assert (await journal.read("r", 0)).completion is not None
            assert calls == 1, "one thread at most waits"
            nursery.cancel_scope.cancel()
    os.write(writing, b"x")
    os.close(writing)


def test_a_daemon_removes_what_is_old_when_it_starts(workshop: Workshop) -> None:
    journal = workshop.directory / "journal"
    first = workshop.daemon("--journal", str(journal))
    for run_id in ("old", "new"):
        first.start(run_id, env=workshop.agent(run_id, *BRIEF))
        first.completion(run_id)
    first.start("live", env=workshop.agent("live", *HANGING))
    first.event("live")
    for run_id in ("old", "live"):
        age(journal / f"{run_id}.jsonl", 3)
    second = workshop.daemon("--journal", str(journal), "--keep-days", "2")
    while (journal / "old.jsonl").exists():
        second.call("run/list")
    assert names(journal) == ["live.jsonl", "new.jsonl"]
    assert second.refusal("run/events", runId="old").code == -32602
    assert first.call("run/events", runId="live")["live"]
