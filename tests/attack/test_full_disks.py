"""Test that a full disk yields a clear error, and that no unrecorded work is done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_adapter.testing import PrintJson, ReadPrompt
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed

from ..cli.command import Cli
from .hung_file_system import HungFileSystem, hung_file_system

pytestmark = [pytest.mark.rule("O9", "I12", "S10"), pytest.mark.attack]


@pytest.fixture
def full(tmp_path: Path) -> Iterator[HungFileSystem]:
    """A file system without room."""
    with hung_file_system(tmp_path / "mount") as mounted:
        mounted.limit(0)
        yield mounted


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Commands in a directory with room."""
    return Cli(tmp_path)


@pytest.mark.fault(
    "environment",
    "The file system of a new state directory is full",
    "The command exits with status 125 and executes no operation",
)
def test_a_state_without_room_has_nothing_carried_out(cli: Cli, full: HungFileSystem) -> None:
    place = cli.directory / "work"
    place.mkdir()
    message = {"protocolVersion": "1.0", "operations": [{"type": "createFile", "path": "a", "content": "x"}]}
    words = ("operations", "--workspace", str(place), "--state", f"{full.path}/state.db")
    done = cli.run(*words, stdin=json.dumps(message).encode() + b"\n")
    assert done.status == 125
    assert done.complaint.startswith("--state: the state cannot be read or written")
    assert list(place.iterdir()) == []


@pytest.mark.fault(
    "environment",
    "The file system of a new mailbox is full",
    "The command exits with status 1 and reports that no space is left",
)
def test_a_mailbox_without_room_says_so(cli: Cli, full: HungFileSystem) -> None:
    place = cli.directory / "work"
    place.mkdir()
    words = ("mailbox", "start", "--no-wait", "--workspace", str(place), "--mailbox", f"{full.path}/mailbox", "task")
    done = cli.run(*words)
    assert done.status == 1
    assert "No space left on device" in done.complaint


@pytest.mark.fault(
    "environment", "The file system of TMPDIR is full", "The adapter writes the schema to another file system"
)
def test_a_temporary_directory_without_room_is_no_reason_to_run_without_the_schema(
    cli: Cli, full: HungFileSystem
) -> None:
    schema = cli.directory / "schema.json"
    schema.write_text('{"type":"object"}')
    said = (thread_started(), agent_message("item_0", "{}"), turn_completed())
    agent = cli.agent(ReadPrompt(), *map(PrintJson, said))
    cli.env["TMPDIR"] = str(full.path)
    done = cli.run("run", "--codex", agent, "--output-schema", str(schema), "hi")
    assert done.status == 0, done.stderr
    assert done.completion["outcome"] == "completed"
