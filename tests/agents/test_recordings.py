"""Test that each recording of each real CLI has its golden records, however its bytes are cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pytest

from codex_adapter.events import ExitStatus, ToolCall
from codex_adapter.records import encode_completion, encode_events
from tests.agents.agent_lines import FIXTURES, AgentLines
from tests.agents.recordings import each_recording
from tests.agents.table import AGENTS, each_agent
from tests.regenerate_goldens import golden


def records(agent: AgentLines, reads: Iterable[bytes], returncode: int, *, full: bool) -> bytes:
    pipeline = agent.pipeline(full_payloads=full)
    events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
    return encode_events(events) + encode_completion(
        len(events), pipeline.completion(ExitStatus.from_returncode(returncode))
    )


def cut_at_random(data: bytes, random: Random) -> Iterator[bytes]:
    largest = random.choice([2, 30, 300, 5_000])
    while data:
        size = random.randint(1, largest)
        yield data[:size]
        data = data[size:]


@pytest.mark.rule("Y1", "T1", "M0", "W1", "W2")
@each_recording(*AGENTS)
def test_a_recording_gives_its_golden_records(kind: str, recording: Path, returncode: int) -> None:
    """The goldens are written by `tests/regenerate_goldens.py`; look at each change before it is committed."""
    assert golden(recording.read_bytes(), returncode, kind) == recording.with_suffix(".events.jsonl").read_bytes()


@pytest.mark.rule("Y1", "L5", "M7")
@each_recording(*AGENTS, wide=True)
def test_the_records_do_not_depend_on_the_reads(kind: str, recording: Path, returncode: int) -> None:
    stdout, agent = recording.read_bytes(), AGENTS[kind]
    random = Random(recording.stem)
    full = random.random() < 0.5
    whole = records(agent, [stdout], returncode, full=full)
    assert records(agent, cut_at_random(stdout, random), returncode, full=full) == whole


@pytest.mark.rule("M3", "M9")
@each_recording(*AGENTS)
def test_no_call_is_left_without_a_result(kind: str, recording: Path, returncode: int) -> None:
    pipeline = AGENTS[kind].pipeline()
    waiting: set[str | None] = set()
    for event in [*pipeline.receive_data(recording.read_bytes()), *pipeline.receive_eof()]:
        if isinstance(event.data, ToolCall):
            waiting.add(event.data.tool.backend_item_id)
            if event.kind == "tool_result":
                waiting.discard(event.data.tool.backend_item_id)
    assert waiting == set()


@pytest.mark.rule("Y1", "T1")
@each_agent
def test_each_recording_has_a_golden_and_each_golden_a_recording(agent: AgentLines) -> None:
    root = FIXTURES / agent.kind
    rows = [json.loads(row) for row in (root / "index.jsonl").read_text().splitlines()]
    stems = {root / row["version"] / row["scenario"] for row in rows}
    assert len(stems) == len(rows)
    expected = {Path(f"{stem}{suffix}") for stem in stems for suffix in (".jsonl", ".events.jsonl")}
    assert set(root.glob("*/*")) == expected
