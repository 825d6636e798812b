"""Provide programs that replace the CLI, a successful run, and the error texts of failed runs."""

from __future__ import annotations

from pathlib import Path

from codex_adapter.testing import PrintJson, Step
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

from ..cli.command import Done

__all__ = ["ANSWER", "IO", "PROMPT", "SPAWN", "TURN", "right", "script"]

SPAWN = "codex backend error: spawn (details redacted when unsafe)"


IO = "codex backend error: io (details redacted when unsafe)"


PROMPT = "Dýrð “ü” \U0001f600"
ANSWER = '"Fertig: “ü” \u2028 \U0001f600"'
"""It is JSON, so that it also answers a request with an output schema."""
TURN: tuple[Step, ...] = (
    PrintJson(thread_started()),
    PrintJson(turn_started()),
    PrintJson(agent_message("item_0", ANSWER)),
    PrintJson(turn_completed()),
)


def right(done: Done) -> None:
    """The run has told all of its story, and nothing else was said."""
    assert (done.status, done.stderr) == (0, "")
    assert [record.get("text") for record in done.records if record.get("text")] == [ANSWER]
    assert done.completion["final_text"] == ANSWER


def script(path: Path, text: str) -> Path:
    """An executable file."""
    path.write_text(text)
    path.chmod(0o755)
    return path
