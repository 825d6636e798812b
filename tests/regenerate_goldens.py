"""Write the expected records next to each recording of `fixtures/codex`: `python -m tests.regenerate_goldens`.

The program lists the changed files. Review them before you commit, because these files define what the adapter
promises.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.core.error_texts import non_zero_exit_text
from codex_adapter.core.notices import error_event
from codex_adapter.core.pipeline import number_events
from codex_adapter.events import ExitStatus
from codex_adapter.records import encode_completion, encode_events

CODEX = Path(__file__).parents[1] / "fixtures" / "codex"


def golden(stdout: bytes, returncode: int) -> bytes:
    """The records of a run that printed `stdout` and ended with `returncode`, which is negative for a signal."""
    status = ExitStatus.from_returncode(returncode)
    pipeline = codex_pipeline()
    events = [*pipeline.receive_data(stdout), *pipeline.receive_eof()]
    if not status.success:
        events += number_events([error_event("codex", non_zero_exit_text("codex", status))], len(events))
    return encode_events(events) + encode_completion(len(events), pipeline.completion(status))


def main() -> None:
    """Rewrite the goldens of all recordings in the index."""
    for row in (CODEX / "index.jsonl").read_text().splitlines():
        run = json.loads(row)
        recording = CODEX / run["version"] / f"{run['scenario']}.jsonl"
        target = recording.with_suffix(".events.jsonl")
        records = golden(recording.read_bytes(), run["returncode"])
        if not target.exists() or target.read_bytes() != records:
            target.write_bytes(records)
            sys.stdout.write(f"{target.relative_to(CODEX)}\n")


if __name__ == "__main__":
    main()
