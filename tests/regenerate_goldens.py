"""Write the expected records next to each recording of `fixtures`: `python -m tests.regenerate_goldens`.

The program lists the changed files. Review them before you commit, because these files define what the adapter
promises.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from codex_adapter.agents import agent_of
from codex_adapter.core.error_texts import non_zero_exit_text
from codex_adapter.core.notices import error_event
from codex_adapter.core.pipeline import Pipeline, number_events
from codex_adapter.events import ExitStatus
from codex_adapter.records import encode_completion, encode_events

FIXTURES = Path(__file__).parents[1] / "fixtures"
CODEX = FIXTURES / "codex"


def golden(stdout: bytes, returncode: int, kind: str = "codex") -> bytes:
    """The records of a run that printed `stdout` and ended with `returncode`, which is negative for a signal."""
    status = ExitStatus.from_returncode(returncode)
    agent = agent_of(kind)
    pipeline = Pipeline(agent.decoder, advice=agent.advice)
    events = [*pipeline.receive_data(stdout), *pipeline.receive_eof()]
    if not status.success:
        events += number_events([error_event(kind, non_zero_exit_text(kind, status))], len(events))
    return encode_events(events) + encode_completion(len(events), pipeline.completion(status))


def main() -> None:
    """Rewrite the goldens of all recordings in the index of each agent."""
    for index in sorted(FIXTURES.glob("*/index.jsonl")):
        for row in index.read_text().splitlines():
            run = json.loads(row)
            recording = index.parent / run["version"] / f"{run['scenario']}.jsonl"
            target = recording.with_suffix(".events.jsonl")
            records = golden(recording.read_bytes(), run["returncode"], index.parent.name)
            if not target.exists() or target.read_bytes() != records:
                target.write_bytes(records)
                sys.stdout.write(f"{target.relative_to(FIXTURES)}\n")


if __name__ == "__main__":
    main()
