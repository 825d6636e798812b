"""Test that every line of the recorded releases has a type and is decoded in one pass."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codex_adapter.agents.codex.stream import lines as te
from codex_adapter.agents.codex.stream.line_parser import parse_lines
from codex_adapter.core.bad_lines import BadLine

from ....rows import rows

RECORDINGS = Path(__file__).parents[4] / "fixtures" / "codex"
EVERYWHERE: set[type] = {
    *(te.AgentMessage, te.Reasoning, te.CommandExecution, te.FileChange, te.McpToolCall, te.WebSearch),
}
NEWER: set[type] = {te.TodoList, te.CollabToolCall, te.ErrorItem}
SOMEWHERE: dict[str, set[type]] = {
    "0.44.0": {te.TodoList},
    "0.47.0": set(),
    "0.61.0": {te.TodoList},
    "0.77.0": {te.TodoList},
    "0.98.0": {te.TodoList},
    **dict.fromkeys(("0.116.0", "0.125.0", "0.140.0", "0.147.0", "0.155.0", "0.163.0", "0.169.0"), NEWER),
}


RELEASES = list(SOMEWHERE)


def lines(release: str) -> Iterator[tuple[bytes, te.ThreadEvent]]:
    for run in map(json.loads, (RECORDINGS / "runs.jsonl").read_text().splitlines()):
        if run["version"] == release and "recording" in run:
            path = RECORDINGS / run["recording"] / f"{run['scenario']}.jsonl"
            for line in path.read_bytes().splitlines():
                event = parse_lines([line])[0]
                assert not isinstance(event, BadLine), path
                yield line, event


@pytest.mark.rule("T1")
@rows("release", RELEASES)
def test_every_recorded_line_is_a_thread_event_of_today(release: str) -> None:
    decode = msgspec.json.Decoder(te.DecodedEvent).decode
    for line, event in lines(release):
        assert type(decode(line)) is type(event)


@pytest.mark.rule("T1")
@rows("release", RELEASES)
def test_the_recordings_of_a_release_have_every_item_type_that_it_prints(release: str) -> None:
    items = {type(item) for _, event in lines(release) if (item := getattr(event, "item", None)) is not None}
    assert items == EVERYWHERE | SOMEWHERE[release]


@pytest.mark.rule("T1")
@rows("release", RELEASES)
def test_nothing_that_a_recorded_item_says_is_lost(release: str) -> None:
    for line, event in lines(release):
        item: Any = getattr(event, "item", None)
        if item is not None:
            said = msgspec.json.decode(line)["item"]
            assert said.pop("type") == item.__struct_config__.tag
            for name, value in said.items():
                kept = getattr(item, name)
                assert (
                    json.loads(bytes(kept) or b"null") == value
                    if isinstance(kept, msgspec.Raw)
                    else _plain(kept) == value
                )


def _plain(kept: Any) -> Any:
    return [msgspec.to_builtins(part) for part in kept] if isinstance(kept, (list, tuple)) else kept


@pytest.mark.rule("T1")
def test_a_command_that_runs_and_one_that_is_done() -> None:
    decode = msgspec.json.Decoder(te.DecodedEvent).decode
    started = b'{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"ls"'
    for rest in (b',"aggregated_output":"","status":"in_progress"}}', b',"exit_code":null,"status":"in_progress"}}'):
        assert decode(started + rest) == te.ItemStarted(
            item=te.CommandExecution(id="item_0", command="ls", status="in_progress")
        )
    done = (
        b'{"type":"item.completed","item":{"id":"item_0","type":"command_execution","exit_code":-1,"status":"failed"}}'
    )
    assert decode(done) == te.ItemCompleted(item=te.CommandExecution(id="item_0", exit_code=-1, status="failed"))


@pytest.mark.rule("T1", "L4")
def test_the_second_of_the_two_ids_of_a_web_search_counts() -> None:
    decode = msgspec.json.Decoder(te.DecodedEvent).decode
    line = b'{"type":"item.started","item":{"id":"item_3","type":"web_search","id":"ws_1","query":"q"}}'
    assert decode(line) == te.ItemStarted(item=te.WebSearch(id="ws_1", query="q"))
    searches = [event.item for _, event in lines("0.169.0") if isinstance(event, te.ItemStarted | te.ItemCompleted)]
    assert {item.id[:3] for item in searches if isinstance(item, te.WebSearch)} == {"ws_"}
