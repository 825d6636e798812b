"""Test that the labels of a request reach only the journal of the daemon that executes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from codex_adapter import RunRequest
from codex_adapter.daemon.client import open_daemon
from codex_adapter.testing import PrintJson, ReadPrompt, write_agent
from codex_adapter.testing.thread_lines import thread_started, turn_completed, turn_started

from ...waiting import SOON
from .transports import see


@pytest.mark.rule("J15", "J19", "Q6")
async def test_labels_are_in_the_journal(tmp_path: Path) -> None:
    steps = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()), PrintJson(turn_completed()))
    words = ("--codex", write_agent(tmp_path / "bin", steps), "--journal", str(tmp_path / "runs"))
    request = RunRequest(prompt="x", working_dir=str(tmp_path), labels={"task": "12"})
    with trio.fail_after(SOON):
        async with open_daemon(*words) as backend:
            seen = await see(backend, request)
    assert seen.outcome.ok
    (journal,) = (tmp_path / "runs").iterdir()
    assert json.loads(journal.read_text().partition("\n")[0])["labels"] == {"task": "12"}
