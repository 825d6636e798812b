"""Test bad output: cut, torn, flooded, malformed, out of order, or in the wrong encoding."""

from __future__ import annotations

import codecs
import re
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from codex_adapter import BackendError, CodexConfig, Completion, ExitStatus, codex_pipeline

from ..runtime.scripted import DONE, THREAD, TURN, running, say, texts, tool
from .lines import RECORDED, SAMPLES, VALUES, as_line, events_of, told, with_each_field_replaced
from .verdict import closes

BAD = re.compile(r"codex stream (parse|normalize) error \(redacted\): [a-zA-Z0-9_ -]+ \(line_bytes=[0-9]+\)")
AFTER = say("after", 9)
OTHER_THREAD = as_line({"type": "thread.started", "thread_id": "01a20018-057d-7ce3-b0c7-ffffffffffff"})


def a_completed(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "a", "type": kind, **fields}}


def is_bad(text: str | None) -> bool:
    return text is not None and BAD.fullmatch(text) is not None


async def completion_of(*script: bytes, status: int = 0) -> Completion:
    async with running(list(script), status=ExitStatus(code=status)) as (run, _):
        await run.events.aclose()
        return await run.wait_completed()


@pytest.mark.fault(
    "stream",
    "The stream ends at any byte",
    "The adapter yields the events before the cut, at most one error, and a turn cut off",
)
@pytest.mark.rule("L3", "L5", "F2")
def test_a_stream_cut_at_any_byte_gives_the_events_before_the_cut() -> None:
    whole = events_of(RECORDED)
    for cut in range(len(RECORDED)):
        data = RECORDED[:cut]
        pipeline = codex_pipeline()
        events = pipeline.receive_data(data)
        assert events == whole[: data.count(b"\n")]
        at_end = pipeline.receive_eof()
        is_open = sum((event.kind == "tool_call") - (event.kind == "tool_result") for event in events + at_end)
        assert is_open == 0
        events += [event for event in at_end if not closes(event)]
        torn = events[data.count(b"\n") :]
        assert torn == whole[data.count(b"\n") : len(events)] or (len(torn) == 1 and is_bad(torn[0].message))
        turn = pipeline.completion(ExitStatus(code=0)).turn
        assert turn == (None if whole[2] not in events else "completed" if events == whole else "cut_off")


@pytest.mark.fault(
    "stream",
    "The agent closes stdout at or inside any line and keeps running",
    "After a grace period the run ends: it fails during a turn and completes after a turn",
)
@pytest.mark.rule("F8", "K6", "L3")
def test_stdout_closed_anywhere_by_a_living_agent_ends_the_run() -> None:
    ends = [place + 1 for place, byte in enumerate(RECORDED) if byte == 10]
    for cut in sorted({0, *ends, *(end - 1 for end in ends), *(end - 9 for end in ends)}):

        async def run(cut: int = cut) -> None:
            async with running([RECORDED[:cut]] if cut else [], status=ExitStatus(signal="SIGINT")) as (run, source):
                source._exits_by_script = True
                last = (await texts(run))[-1]
                if b"turn.completed" in RECORDED[:cut] and cut >= len(RECORDED) - 1:
                    assert (await run.wait_completed()).turn == "completed"
                else:
                    assert last == "codex stream closed unexpectedly"
                    with pytest.raises(BackendError, match="closed unexpectedly"):
                        await run.wait_completed()
            assert trio.current_time() == pytest.approx(10)

        trio.run(run, clock=MockClock(autojump_threshold=0))


@pytest.mark.fault(
    "stream",
    "A byte that is not UTF-8 is at any position of a line",
    "The line yields one error; the other lines stay valid",
)
@pytest.mark.fault(
    "stream", "NUL is at any position of a line", "The line yields one error; the other lines stay valid"
)
@pytest.mark.fault(
    "stream", "A newline is at any position of a line", "Each half that is not a valid line yields one error"
)
@pytest.mark.fault(
    "stream", "A carriage return is at any position of a line", "The line yields one error or its original event"
)
@pytest.mark.rule("L1", "L4", "X1")
@pytest.mark.parametrize("byte", [b"\xff", b"\xc3", b"\0", b"\n", b"\r"])
def test_a_foreign_byte_anywhere_in_a_line_spoils_that_line_alone(byte: bytes) -> None:
    line = tool("started").rstrip(b"\n")
    for place in range(len(line) + 1):
        events = events_of(say("before") + line[:place] + byte + line[place:] + b"\n" + AFTER)
        before, *found, after = (event for event in events if not closes(event))
        assert (before.text, after.text) == ("before", "after")
        assert len(found) <= (2 if byte == b"\n" else 1)
        assert all(event.kind == "tool_call" or is_bad(event.message) for event in found)


@pytest.mark.fault(
    "stream", "One read returns one million short lines", "Each line yields one event, in order, without delay"
)
@pytest.mark.rule("D2", "L1", "B6")
def test_a_flood_of_tiny_lines_in_one_read_is_an_event_each() -> None:
    pipeline = codex_pipeline()
    for kind, line, count in (
        ("error", b"7\n", 200_000),
        ("unknown", b'{"type":"x"}\n', 100_000),
        (None, b"\n", 700_000),
    ):
        events = pipeline.receive_data(line * count)
        assert len(events) == (count if kind else 0)
        assert {event.kind for event in events} == ({kind} if kind else set())
    assert [event.text for event in pipeline.receive_data(AFTER)] == ["after"]


@pytest.mark.fault(
    "stream", "Any field of any line is missing or has any wrong type", "Each line yields one event or one error"
)
@pytest.mark.rule("L4", "T4", "X1", "X2")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample['type']} {sample.get('item', {}).get('type')}")
def test_a_line_with_any_field_misshapen_has_one_outcome(sample: dict[str, Any]) -> None:
    for value in VALUES:
        for changed in with_each_field_replaced(sample, value):
            _, *events, after = events_of(THREAD, as_line(changed), AFTER)
            assert after.text == "after"
            # An id that is too long has an event of its own.
            assert len(events) == 1 or (len(events) == 2 and (events[0].message or "").startswith("session handle id"))
            assert all(is_bad(event.message) for event in events if event.kind == "error" and event.data is None)


@pytest.mark.fault("stream", "The whole output is UTF-16", "Each line yields one error; the completion has no turn")
@pytest.mark.fault(
    "stream",
    "The whole output is UTF-16 with its byte order mark",
    "Each line yields one error; the completion has no turn",
)
@pytest.mark.rule("L4", "F2")
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF16_LE])
async def test_output_in_utf_16_is_errors_and_no_turn(mark: bytes) -> None:
    data = mark + RECORDED.decode().encode("utf-16-le")
    assert all(is_bad(text) for text in told(data))
    completion = await completion_of(data)
    assert (completion.turn, completion.final_text, completion.session_id) == (None, None, None)


@pytest.mark.rule("F2", "L1")
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            [],
            marks=pytest.mark.fault("stream", "The agent prints nothing", "The run yields no event and one completion"),
        ),
        pytest.param(
            [b"\n \t\r\n\r" * 1_000],
            marks=pytest.mark.fault(
                "stream", "The agent prints only white space", "The run yields no event and one completion"
            ),
        ),
    ],
)
async def test_output_without_a_line_is_a_run_without_a_turn(script: list[bytes]) -> None:
    async with running([*script]) as (run, _):
        assert await texts(run) == []
        completion = await run.wait_completed()
    assert completion == Completion(status=ExitStatus(code=0))


ORDERS = [
    pytest.param(
        [THREAD, TURN, tool("completed"), tool("started"), DONE],
        ["status", "status", "tool_result", "tool_call", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault(
            "stream",
            "A tool call completes before it starts",
            "Both events keep their order, and the adapter closes the call once more",
        ),
    ),
    pytest.param(
        [say("early"), tool("started"), THREAD, TURN, DONE],
        ["text_output", "tool_call", "status", "status", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "Items arrive before the thread starts", "Their events have no thread id"),
    ),
    pytest.param(
        [THREAD, TURN, TURN, say("a"), DONE],
        ["status", "status", "status", "text_output", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "Two turns are open at once", "The later turn determines the outcome"),
    ),
    pytest.param(
        [THREAD, TURN, DONE, as_line({"type": "turn.failed"})],
        ["status", "status", "status", "status"],
        "failed",
        marks=pytest.mark.fault(
            "stream",
            "A turn ends twice, first with success and then with failure",
            "The last end determines the outcome",
        ),
    ),
    pytest.param(
        [DONE],
        ["status"],
        "completed",
        marks=pytest.mark.fault("stream", "A turn that never started ends", "The turn is complete"),
    ),
    pytest.param(
        [THREAD, TURN, DONE, say("late"), tool("started"), tool("completed")],
        ["status", "status", "status", "text_output", "tool_call", "tool_result"],
        "completed",
        marks=pytest.mark.fault(
            "stream",
            "Items arrive after the end of the turn",
            "The adapter reports them; a late message becomes the final text",
        ),
    ),
    pytest.param(
        [THREAD, TURN, tool("completed"), DONE],
        ["status", "status", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "A tool call that never started completes", "The adapter reports its result"),
    ),
    pytest.param(
        [THREAD, TURN, tool("started"), DONE],
        ["status", "status", "tool_call", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault(
            "stream",
            "A tool call never completes",
            "The adapter closes it with an unknown result before the end of the turn",
        ),
    ),
    pytest.param(
        [THREAD, TURN, tool("started"), tool("started"), tool("completed"), tool("completed"), DONE],
        ["status", "status", "tool_call", "tool_call", "tool_result", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "Two tool calls share an id", "The adapter reports each line"),
    ),
    pytest.param(
        [THREAD, THREAD, TURN, THREAD, DONE],
        ["status", "status", "status", "status", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "The same thread starts repeatedly", "The session keeps its id"),
    ),
]


@pytest.mark.rule("D2", "F2", "M0", "M5", "M9")
@pytest.mark.parametrize(("script", "kinds", "turn"), ORDERS)
async def test_an_order_that_cannot_be_is_told_as_it_came(script: list[bytes], kinds: list[str], turn: str) -> None:
    async with running([*script], config=CodexConfig(idle_timeout=5)) as (run, _):
        events = [event async for event in run.events]
        completion = await run.wait_completed()
    assert [event.kind for event in events] == kinds
    assert completion.turn == turn
    assert completion.final_text == next((event.text for event in reversed(events) if event.text), None)


@pytest.mark.fault("stream", "A second thread starts with another id", "The session keeps the id of the first thread")
@pytest.mark.rule("M5", "T3")
async def test_the_session_is_that_of_the_first_thread() -> None:
    completion = await completion_of(THREAD, TURN, OTHER_THREAD, say("a"), DONE)
    assert completion.session_id == "01a20018-057d-7ce3-b0c7-a173a1ba2c6a"


BIG: dict[str, dict[str, Any]] = {
    "usage": {"type": "turn.completed", "usage": {f"n{number}": number for number in range(100_000)}},
    "integers": {"type": "turn.completed", "usage": {"input_tokens": 2**62, "output_tokens": -(2**62), "x": 2**64}},
    "changes": a_completed("file_change", changes=[{"path": "/p", "kind": "add"}] * 50_000),
    "id": a_completed("agent_message", id="i" * 1_000_000, text="t"),
    "type": {"type": "t" * 1_000_000},
    "plan": a_completed("todo_list", items=[{"text": "t", "completed": True}] * 50_000),
    "message": {"type": "error", "message": "m" * 1_000_000},
}


@pytest.mark.fault(
    "stream",
    "A usage record has 100,000 counts, or counts beyond 64 bits",
    "The event contains a bounded number of them",
)
@pytest.mark.fault("stream", "A plan or a list of changes has 50,000 entries", "The event stays within its size limits")
@pytest.mark.fault("stream", "An id, type name or message has 1 MB", "The event stays within its size limits")
@pytest.mark.rule("B3", "B4", "M6", "T4")
@pytest.mark.parametrize("name", BIG)
def test_a_line_with_something_huge_in_it_is_a_bounded_event(name: str) -> None:
    _, event, after = events_of(THREAD, as_line(BIG[name]), AFTER)
    assert after.text == "after"
    assert len(msgspec.json.encode(event)) < 70_000
