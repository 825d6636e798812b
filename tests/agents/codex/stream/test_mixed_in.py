"""Test lines that do not belong to the run: turns of sub-agents, and repeated items after a reconnect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.events import Event, ExitStatus, ToolCall

OK = ExitStatus(code=0)
CODEX = Path(__file__).parents[4] / "fixtures" / "codex"
THREAD = {"type": "thread.started", "thread_id": "parent"}
TURN = {"type": "turn.started"}
DONE = {"type": "turn.completed", "usage": {"input_tokens": 600, "cached_input_tokens": 240, "output_tokens": 120}}


def message(number: int, text: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": f"item_{number}", "type": "agent_message", "text": text}}


def agent_call(phase: str, number: int, tool: str, *, child: bool = True, said: str | None = None) -> dict[str, Any]:
    states = {"child": {"status": "completed" if said else "pending_init", "message": said}}
    item: dict[str, Any] = {"id": f"item_{number}", "type": "collab_tool_call", "tool": tool}
    item |= {"sender_thread_id": "parent"}
    item |= {"receiver_thread_ids": ["child"] if child else [], "prompt": None}
    item |= {"agents_states": states if phase == "completed" else {}}
    item |= {"status": "in_progress" if phase == "started" else "completed"}
    return {"type": f"item.{phase}", "item": item}


MIXED = [
    THREAD,
    TURN,
    agent_call("started", 0, "spawn_agent", child=False),
    TURN,  # the child's
    agent_call("completed", 0, "spawn_agent"),
    agent_call("started", 1, "wait"),
    message(2, "child answer 0"),
    agent_call("completed", 1, "wait", said="child answer 0"),
    agent_call("started", 3, "send_input"),
    agent_call("completed", 3, "send_input", said="child answer 0"),
    TURN,  # the child's
    agent_call("started", 4, "wait"),
    message(5, "child answer 1"),
    agent_call("completed", 4, "wait", said="child answer 1"),
    agent_call("started", 6, "close_agent"),
    agent_call("completed", 6, "close_agent", said="child answer 1"),
    message(7, "parent done"),
    DONE,
]
"""What 0.98 printed with `features.collab`, its ids made short."""


def fed(*lines: dict[str, Any]) -> tuple[list[Event], Pipeline]:
    pipeline = codex_pipeline()
    events = pipeline.receive_data(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return events + pipeline.receive_eof(), pipeline


def turns(events: list[Event]) -> list[str | None]:
    return [event.data.tool.turn_id for event in events if isinstance(event.data, ToolCall)]


@pytest.mark.rule("M11", "M0", "F2")
def test_sub_agents_mixed_in_leave_turn_answer_and_outcome_those_of_the_parent() -> None:
    events, pipeline = fed(*MIXED)
    assert len(events) == len(MIXED)
    assert [event.kind for event in events[2:5]] == ["tool_call", "status", "tool_result"]
    texts = [event.text for event in events if event.kind == "text_output"]
    assert texts == ["child answer 0", "child answer 1", "parent done"]
    assert set(turns(events)) == {"synthetic-turn-1"}
    completion = pipeline.completion(OK)
    assert (completion.turn, completion.final_text) == ("completed", "parent done")
    assert completion.usage == DONE["usage"]


@pytest.mark.rule("M11", "F2")
def test_a_sub_agent_that_begins_when_its_parent_is_done_does_not_cut_the_run_off() -> None:
    _, pipeline = fed(*MIXED, TURN)
    assert pipeline.completion(OK).turn == "completed"
    assert pipeline.state.turn == "completed"


@pytest.mark.rule("M11", "F2")
def test_a_parent_whose_turn_never_ends_is_cut_off_whatever_its_sub_agents_did() -> None:
    events, pipeline = fed(*MIXED[:6])
    assert pipeline.completion(OK).turn == "cut_off"
    assert events[-1].kind == "tool_result"


@pytest.mark.rule("M11", "T3")
@pytest.mark.parametrize("line", [{**TURN, "turn_id": "named"}, THREAD])
def test_a_turn_that_has_a_name_or_is_of_a_new_thread_is_no_sub_agents(line: dict[str, Any]) -> None:
    call = agent_call("started", 9, "wait")
    events, _ = fed(*MIXED, line, *([TURN] if line is THREAD else []), call)
    assert turns(events)[-2:] == ["named" if "turn_id" in line else "synthetic-turn-2"] * 2


@pytest.mark.rule("M11", "M5")
def test_the_beginning_of_a_sub_agents_turn_can_tell_the_session() -> None:
    spawn = {**agent_call("started", 0, "spawn_agent", child=False), "thread_id": "parent"}
    events, _ = fed(spawn, TURN)
    assert [(event.kind, event.data is not None) for event in events[:2]] == [("tool_call", True), ("status", True)]


@pytest.mark.rule("M11", "M0")
@pytest.mark.parametrize("version", ["0.125.0", "0.140.0", "0.169.0"])
def test_releases_that_keep_sub_agents_apart_print_the_parents_calls_alone(version: str) -> None:
    pipeline = codex_pipeline()
    events = pipeline.receive_data((CODEX / version / "collab.jsonl").read_bytes())
    assert [event.text for event in events if event.kind == "text_output"][-1] == "parent done"
    assert set(turns(events)) == {"synthetic-turn-1"}
    completion = pipeline.completion(OK)
    assert (completion.turn, completion.final_text) == ("completed", "parent done")


RELEASES = sorted(path.name for path in CODEX.iterdir() if (path / "stream_end_no_completed.jsonl").exists())


@pytest.mark.rule("M10", "F2")
@pytest.mark.parametrize("version", RELEASES)
def test_what_is_printed_again_after_each_reconnect_is_told_again_and_never_joined(version: str) -> None:
    pipeline = codex_pipeline()
    events = pipeline.receive_data((CODEX / version / "stream_end_no_completed.jsonl").read_bytes())
    texts = [event.text for event in events if event.kind == "text_output"]
    assert len(texts) > 1
    assert set(texts) == {"no terminal event"}
    # The turn fails at last; had it not, the answer would be this.
    assert pipeline.completion(OK).final_text == "no terminal event"


@pytest.mark.rule("M10", "M9", "F2")
def test_calls_that_are_printed_again_keep_their_own_results() -> None:
    def command(phase: str, number: int) -> dict[str, Any]:
        return {"type": f"item.{phase}", "item": {"id": f"item_{number}", "type": "command_execution"}}

    again = {"type": "error", "message": "Reconnecting... 1/5 (stream closed before response.completed)"}
    first = [message(0, "I look."), command("started", 1), command("completed", 1)]
    second = [message(2, "I look."), command("started", 3), command("completed", 3), message(4, "Done.")]
    events, pipeline = fed(THREAD, TURN, *first, again, *second, DONE)
    assert len(events) == 11
    pairs = [event.data.tool.backend_item_id for event in events if isinstance(event.data, ToolCall)]
    assert pairs == ["item_1", "item_1", "item_3", "item_3"]
    assert (pipeline.completion(OK).final_text, pipeline.completion(OK).turn) == ("Done.", "completed")
