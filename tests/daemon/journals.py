"""Build records and journals without a daemon."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from codex_adapter.daemon.journal import Journal, JournalFile, Page

__all__ = ["begun", "completion", "event", "keep", "pages", "seqs", "writer_elsewhere"]

_WRITER = """
import sys, trio
from pathlib import Path
from codex_adapter.daemon.journal import Journal
journal = Journal(Path(sys.argv[1]))
file = journal.file(sys.argv[2])
trio.run(file.create)
trio.run(file.append, sys.stdin.buffer.read())
with Path(sys.argv[1], f"{sys.argv[2]}.jsonl").open("ab") as torn:
    torn.write(b'{"time":"2026-01-01T00:00:00.000Z","type":"event","se')
print("written", flush=True)
import signal
signal.pause()
"""


def event(seq: int, text: str = "Hello.") -> bytes:
    """The line of an event."""
    fields = {
        "type": "event",
        "seq": seq,
        "agent_kind": "codex",
        "kind": "output",
        "channel": "assistant",
        "text": text,
    }
    return msgspec.json.encode(fields) + b"\n"


def completion(seq: int) -> bytes:
    """The line of a completion."""
    return (
        b'{"type":"completion","seq":%d,"outcome":"failed","ok":false,'
        b'"error":{"kind":"backend","message":"cancelled","failure":"cancelled"}}\n' % seq
    )


async def begun(journal: Journal, run_id: str) -> JournalFile:
    """Make the journal of a run."""
    file = journal.file(run_id)
    await file.create()
    return file


async def keep(journal: Journal, run_id: str, *records: bytes) -> None:
    """The journal of a run that is over."""
    file = await begun(journal, run_id)
    for record in records:
        await file.append(record)
    await file.close()


async def pages(journal: Journal, run_id: str, from_seq: int = 0) -> list[Page]:
    """All pages from a record on."""
    found = [await journal.read(run_id, from_seq)]
    while found[-1].more:
        assert found[-1].records, "there is more, and nothing comes"
        found.append(await journal.read(run_id, found[-1].next_seq))
    return found


def seqs(page: Page) -> list[int]:
    """The numbers of the records of a page, the completion's last."""
    records = [*page.records, *([page.completion] if page.completion is not None else [])]
    return [msgspec.json.decode(record)["seq"] for record in records]


@contextmanager
def writer_elsewhere(directory: Path, run_id: str, records: bytes) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that keeps the journal of a run, and is in the middle of a line."""
    words = [sys.executable, "-c", _WRITER, str(directory), run_id]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(records)
        process.stdin.close()
        try:
            assert process.stdout.readline() == b"written\n"
            yield process
        finally:
            process.kill()
