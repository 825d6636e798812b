"""Test operations as text for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codex_adapter import Completion, Event, ExitStatus
from codex_adapter.cli.present.lines import plain_text
from codex_adapter.cli.present.operations_narration import OperationsNarrator
from codex_adapter.events import TextPart
from codex_adapter.protocols.operations.agent_records import RecordEncoder, WorkEnd

from .command import Cli

pytestmark = pytest.mark.rule("C17")


def message(*operations: dict[str, Any]) -> bytes:
    return json.dumps({"protocolVersion": "1.0", "operations": list(operations)}).encode() + b"\n"


def shown(*records: bytes) -> str:
    narrator = OperationsNarrator()
    return plain_text(line for record in records for line in narrator.narrate(record.strip())).decode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace."""
    path = tmp_path / "workspace"
    path.mkdir()
    return path


def test_a_person_reads_what_was_done_denied_and_what_waits(cli: Cli, root: Path) -> None:
    line = message(
        {"type": "createFile", "path": "a", "content": "é"},
        {"type": "shell", "command": "echo one; echo two >&2; exit 3"},
        {"type": "readFile", "path": "missing"},
        {"type": "shell", "command": "sudo id"},
        {"type": "createFile", "path": "../x", "content": ""},
        {"type": "shell", "command": "rm -rf a", "id": "x"},
    )
    done = cli.run("operations", "--workspace", str(root), "--format", "pretty", stdin=line)
    assert (done.status, done.stderr) == (0, "")
    text = done.stdout.decode().splitlines()
    assert text[0] == "+ write a (2 bytes)"
    assert text[1].startswith("x $ echo one; echo two >&2; exit 3 (exit 3, ")
    assert text[2:4] == ["  | one", "  | two"]
    assert text[4] == "x read missing"
    assert [line for line in text if line.startswith("x denied: ")] != []
    assert [line for line in text if line.startswith("! path: must not contain '..'")] != []
    assert text[-1].startswith("! waits for approval: ")


def test_records_are_written_where_standard_output_is_not_a_terminal(cli: Cli, root: Path) -> None:
    done = cli.run("operations", "--workspace", str(root), stdin=message({"type": "message", "content": "."}))
    assert json.loads(done.stdout)["status"] == "completed"


def test_the_work_of_an_agent_is_shown_with_its_messages_and_its_end() -> None:
    records = RecordEncoder()
    event = Event(0, "codex", "text_output", "assistant", "Look \x1b[31mfirst.", None, TextPart("i", "x", "complete"))
    wanted = message({"type": "message", "content": "Done."}, {"type": "deleteFile", "path": "b"}).strip()
    text = shown(
        records.run_events([event]),
        records.run_ended(Completion(ExitStatus(code=0), turn="completed")),
        records.operations(wanted),
        records.ended(WorkEnd("completed", 2)),
    )
    assert "\x1b" not in text
    assert text.splitlines() == ["Look ␛[31mfirst.", "Done.", "> delete b", "+ completed after 2 turns"]


def test_a_run_that_failed_is_shown_with_its_hint() -> None:
    records = RecordEncoder()
    failed = Completion(ExitStatus(code=1), turn="failed", hint="rate_limited")
    text = shown(records.run_ended(failed), records.ended(WorkEnd("failed", 1)))
    assert "received too many requests" in text
    assert "ended with exit status: 1" in text


def test_long_outputs_are_cut_to_their_last_lines() -> None:
    event = {"type": "shell", "timestamp": "", "command": "x", "success": True, "exitCode": 0}
    record = {"events": [{**event, "stdout": "".join(f"{number}\n" for number in range(100))}]}
    text = shown(msgspec.json.encode(record)).splitlines()
    assert text[1] == "  | … 80 more lines"
    assert (text[2], text[-1], len(text)) == ("  | 80", "  | 99", 22)
