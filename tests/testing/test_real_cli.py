"""Test the real CLI with the scripted model server: it prints what the catalogue expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.releases.codex.catalogue import CATALOGUE
from tests.releases.codex.recorder import Recording, record

from ..needs import missing
from ..real.releases import sandbox_works

pytestmark = [pytest.mark.rule("TK1", "TK4"), pytest.mark.real]

THREAD, TURN, END = ("thread.started", None, None), ("turn.started", None, None), ("turn.completed", None, None)
MESSAGE = ("item.completed", "agent_message", None)
NOTICE, FAILED = ("error", None, None), ("turn.failed", None, None)


def _record(name: str, codex: str, directory: Path) -> Recording:
    [recording] = record(CATALOGUE[name], codex, directory / "case")
    return recording


def _shape(recording: Recording) -> list[tuple[str, Any, Any]]:
    """The type, the item's type and the item's status of each line, without the warnings of this release."""
    items = [(line["type"], line.get("item", {})) for line in recording.lines]
    shape = [(kind, item.get("type"), item.get("status")) for kind, item in items]
    return [line for line in shape if line[1] != "error"]


def _tool(kind: str, status: str = "completed") -> list[tuple[str, str, str]]:
    return [("item.started", kind, "in_progress"), ("item.completed", kind, status)]


@pytest.mark.smoke
def test_a_message_comes_through(codex: str, tmp_path: Path) -> None:
    recording = _record("message", codex, tmp_path)
    assert _shape(recording) == [THREAD, TURN, MESSAGE, END]
    assert b"Hello from the model." in recording.stdout
    assert (recording.returncode, recording.requests) == (0, 1)


@pytest.mark.smoke
@pytest.mark.parametrize(("name", "status"), [("shell_ok", "completed"), ("shell_fail", "failed")])
def test_a_command_is_run(name: str, status: str, codex: str, tmp_path: Path) -> None:
    if not sandbox_works(Path(codex)):
        missing("bubblewrap")
    recording = _record(name, codex, tmp_path)
    assert _shape(recording) == [THREAD, TURN, *_tool("command_execution", status), MESSAGE, END]
    assert (recording.returncode, recording.requests) == (0, 2)


@pytest.mark.parametrize("name", ["patch_add", "patch_sh_add"])
def test_a_patch_changes_a_file(name: str, codex: str, tmp_path: Path) -> None:
    if not sandbox_works(Path(codex)):
        missing("bubblewrap")
    recording = _record(name, codex, tmp_path)
    assert _shape(recording) == [THREAD, TURN, *_tool("file_change"), MESSAGE, END]
    assert (tmp_path / "case" / "workspace" / "hello.txt").read_text() == "hello world\n"


@pytest.mark.rule("TK3")
def test_the_tools_of_the_mcp_server_are_called(codex: str, tmp_path: Path) -> None:
    statuses = ("completed", "failed", "failed", "completed", "completed")
    calls = [line for status in statuses for line in _tool("mcp_tool_call", status)]
    assert _shape(_record("mcp", codex, tmp_path)) == [THREAD, TURN, *calls, MESSAGE, END]


def test_a_plan_is_made_changed_and_finished(codex: str, tmp_path: Path) -> None:
    phases = [(f"item.{phase}", "todo_list", None) for phase in ("started", "updated", "updated", "completed")]
    assert _shape(_record("plan", codex, tmp_path)) == [THREAD, TURN, *phases[:3], MESSAGE, phases[3], END]


def test_a_refused_key_fails_the_turn_after_six_tries(codex: str, tmp_path: Path) -> None:
    recording = _record("http_401", codex, tmp_path)
    assert _shape(recording) == [THREAD, TURN, *[NOTICE] * 6, FAILED]
    assert (recording.returncode, recording.requests) == (1, 6)


def test_a_session_is_resumed_and_forked(codex: str, tmp_path: Path) -> None:
    first, fork, again = record(CATALOGUE["fork"], codex, tmp_path / "case")
    assert first.thread_id == again.thread_id != fork.thread_id
    assert [b'"first"' in first.stdout, b'"second"' in fork.stdout, b'"third"' in again.stdout] == [True] * 3


def test_a_sub_agent_gets_the_answers_of_its_route(codex: str, tmp_path: Path) -> None:
    calls = [line for _ in range(5) for line in _tool("collab_tool_call")]
    recording = _record("collab", codex, tmp_path)
    assert _shape(recording) == [THREAD, TURN, *calls, MESSAGE, END]
    assert b"child answer 1" in recording.stdout
