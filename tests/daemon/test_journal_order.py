"""Test that the daemon sends no record to the supervisor before it is on stable storage.

The tests cannot cut the power. They compute what a disk would contain afterwards: the content of each file at its last
sync, and the names in each directory at that time.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import trio

from codex_adapter import CodexBackend, CodexConfig, Gateway
from codex_adapter.daemon.conversation import MAX_MESSAGE_BYTES, serve
from codex_adapter.daemon.journal import Journal
from codex_adapter.daemon.messages import Limits, ServerInfo
from codex_adapter.daemon.server import Daemon, Settings
from codex_adapter.testing import PrintJson, ReadPrompt, write_agent
from codex_adapter.testing.thread_lines import thread_started, turn_completed

from .agents import flood
from .journals import begun, completion, event, keep, seqs
from .messages import encode, run

pytestmark = pytest.mark.rule("J12", "J13")


class Storage:
    """What of files and directories would outlast the power."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._sizes: dict[int, int] = {}
        self._names: dict[int, set[str]] = {}
        really = {"fsync": os.fsync, "fdatasync": os.fdatasync}

        def sync(name: str) -> Callable[[int], None]:
            def synced(fd: int) -> None:
                status = os.fstat(fd)
                names = set(os.listdir(fd)) if stat.S_ISDIR(status.st_mode) else None
                really[name](fd)
                # A reader syncs beside the writer: of two syncs, the one that began first may end last.
                if names is None:
                    self._sizes[status.st_ino] = max(self._sizes.get(status.st_ino, 0), status.st_size)
                else:
                    self._names[status.st_ino] = self._names.get(status.st_ino, set()) | names

            return synced

        for name in really:
            monkeypatch.setattr(os, name, sync(name))

    def kept(self, path: Path) -> bytes:
        """What would be left of a file, of which every directory below the test's own must be left as well."""
        for above, name in ((it.parent, it.name) for it in (path, *path.parents[:2])):
            if name not in self._names.get(above.stat().st_ino, set()):
                return b""
        return path.read_bytes()[: self._sizes.get(path.stat().st_ino, 0)]


class Supervisor:
    """Says some lines, and looks at the storage whenever something is written to it."""

    def __init__(self, lines: list[bytes], look: Callable[[Any], None]) -> None:
        self._lines = lines
        self._look = look
        self._over = trio.Event()
        self.told: list[Any] = []

    async def receive_some(self) -> bytes:
        """The lines, one by one; then nothing, until all runs have ended."""
        if self._lines:
            return self._lines.pop(0) + b"\n"
        await self._over.wait()
        return b""

    async def write(self, data: bytes) -> bool:
        """Look at each message."""
        for line in data.splitlines():
            self.told.append(json.loads(line))
            self._look(self.told[-1])
            if sum(told.get("method") == "run/completed" for told in self.told) == 3:
                self._over.set()
        await trio.lowlevel.checkpoint()
        return True

    def write_now(self, data: bytes) -> bool:
        """Always in a while."""
        return False

    async def wait_reader_closed(self) -> None:
        """It stays."""
        await trio.sleep_forever()


@pytest.mark.fault(
    "daemon", "The power fails", "All records that were sent, and their file names, are on stable storage"
)
async def test_nothing_is_sent_that_is_not_on_stable_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Storage(monkeypatch)
    place = tmp_path / "made" / "journal"
    looked = 0

    def look(told: Any) -> None:
        nonlocal looked
        for run_id, seq in _records(told):
            lines = storage.kept(place / f"{run_id}.jsonl").split(b"\n")[:-1]
            assert seq in {json.loads(line)["seq"] for line in lines[seq + 1 : seq + 2]}, (
                f"{run_id} {seq} would be lost"
            )
            looked += 1

    steps = (ReadPrompt(), PrintJson(thread_started()), flood(20, 150), flood(20_000, 20), PrintJson(turn_completed()))
    gateway = Gateway()
    gateway.register(CodexBackend(CodexConfig(binary=write_agent(tmp_path / "bin", steps))))
    requests = [("initialize", {"protocolVersion": "1.0"}), *(("run/start", run(run_id)) for run_id in "abc")]
    requests += [("run/events", {"runId": "a"})] * 20
    lines = [{"jsonrpc": "2.0", "id": 1, "method": method, "params": params} for method, params in requests]
    supervisor = Supervisor([encode(line) for line in lines], look)
    with trio.fail_after(60):
        await serve(gateway, _settings(Journal(place)), supervisor, governing=_governed)
    assert looked > 3 * 170


async def test_what_is_told_of_a_journal_is_on_stable_storage_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = Storage(monkeypatch)
    path = tmp_path / "made" / "journal" / "r.jsonl"
    journal = Journal(path.parent)
    await keep(journal, "r", event(0))
    with path.open("ab") as unsafe:
        unsafe.write(event(1) + completion(2))
    assert storage.kept(path).count(b"\n") == 1
    assert seqs(await journal.read("r", 0)) == [0, 1, 2]
    assert storage.kept(path) == path.read_bytes()


async def test_a_line_that_comes_while_a_page_is_made_is_told_by_a_later_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    file = await begun(journal, "r")
    await file.append(event(0))
    really = os.fdatasync

    def sync(fd: int) -> None:
        really(fd)
        with (tmp_path / "r.jsonl").open("ab") as writing:
            writing.write(event(1))

    with monkeypatch.context() as busy:
        busy.setattr(os, "fdatasync", sync)
        assert seqs(await journal.read("r", 0)) == [0]
    assert seqs(await journal.read("r", 0)) == [0, 1]
    await file.close()


def _records(told: Any) -> list[tuple[str, int]]:
    if told.get("method") in ("run/event", "run/completed"):
        return [(told["params"]["runId"], told["params"]["seq"])]
    result = told.get("result", {})
    records = [*result.get("events", []), *([result["completion"]] if "completion" in result else [])]
    return [(result["runId"], record["seq"]) for record in records]


def _governed(_: Daemon) -> AbstractContextManager[None]:
    return nullcontext()


def _settings(journal: Journal) -> Settings:
    async def level() -> str | None:
        await trio.lowlevel.checkpoint()
        return None

    containment: Callable[[], Awaitable[str | None]] = level
    return Settings(
        server=ServerInfo(name="test", version="1"),
        limits=Limits(
            max_runs=3, queue=True, max_message_bytes=MAX_MESSAGE_BYTES, max_batch=100, max_text_bytes=1_000_000
        ),
        containment=containment,
        journal=journal,
        drain_on_eof=False,
        notify=lambda _: None,
    )
