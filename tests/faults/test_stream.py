"""Output that no agent should print: cut, torn, flooded, misshapen, out of order, and in the wrong encoding."""

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
    "stream", "The stream is cut at every byte", "The events before the cut, at most one error, a turn cut off"
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
    "Stdout is closed at every line and in the middle of each while the agent lives on",
    "After a grace the run ends: as a failure in mid-turn, with its completion after the turn",
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


@pytest.mark.fault("stream", "A byte that is no UTF-8 at every position of a line", "One error; its neighbours stand")
@pytest.mark.fault("stream", "NUL at every position of a line", "One error, and its neighbours stand")
@pytest.mark.fault("stream", "A newline at every position of a line", "An error for each half that is no line")
@pytest.mark.fault("stream", "A carriage return at every position of a line", "An error, or the line as it was")
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


@pytest.mark.fault("stream", "A million tiny lines in one read", "An event for each, in order, in little time")
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


@pytest.mark.fault("stream", "Every field of every line missing, or of every wrong type", "One event or one error each")
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


@pytest.mark.fault("stream", "The whole output is UTF-16", "An error for each line, no turn, and a completion")
@pytest.mark.fault("stream", "The whole output is UTF-16 with its byte order mark", "The same")
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
        pytest.param([], marks=pytest.mark.fault("stream", "Nothing is printed at all", "No event, and a completion")),
        pytest.param(
            [b"\n \t\r\n\r" * 1_000],
            marks=pytest.mark.fault("stream", "Nothing but white space is printed", "No event, and a completion"),
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
            "stream", "A tool call completes before it starts", "Both are told as they come, and it is closed once more"
        ),
    ),
    pytest.param(
        [say("early"), tool("started"), THREAD, TURN, DONE],
        ["text_output", "tool_call", "status", "status", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "Items come before the thread", "They are told without its id"),
    ),
    pytest.param(
        [THREAD, TURN, TURN, say("a"), DONE],
        ["status", "status", "status", "text_output", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "Two turns are open at once", "The later one counts"),
    ),
    pytest.param(
        [THREAD, TURN, DONE, as_line({"type": "turn.failed"})],
        ["status", "status", "status", "status"],
        "failed",
        marks=pytest.mark.fault("stream", "A turn ends twice, well and badly", "The last end counts"),
    ),
    pytest.param(
        [DONE],
        ["status"],
        "completed",
        marks=pytest.mark.fault("stream", "A turn ends that never began", "It has ended all the same"),
    ),
    pytest.param(
        [THREAD, TURN, DONE, say("late"), tool("started"), tool("completed")],
        ["status", "status", "status", "text_output", "tool_call", "tool_result"],
        "completed",
        marks=pytest.mark.fault("stream", "Items come after the turn's end", "They are told; a late message counts"),
    ),
    pytest.param(
        [THREAD, TURN, tool("completed"), DONE],
        ["status", "status", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "A tool call completes that never started", "Its result is told"),
    ),
    pytest.param(
        [THREAD, TURN, tool("started"), DONE],
        ["status", "status", "tool_call", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault(
            "stream", "A tool call never completes", "It is closed as unknown before its turn's end"
        ),
    ),
    pytest.param(
        [THREAD, TURN, tool("started"), tool("started"), tool("completed"), tool("completed"), DONE],
        ["status", "status", "tool_call", "tool_call", "tool_result", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "Two tool calls share an id", "Each line is told"),
    ),
    pytest.param(
        [THREAD, THREAD, TURN, THREAD, DONE],
        ["status", "status", "status", "status", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "The thread starts again and again", "Its session is told once"),
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


@pytest.mark.fault("stream", "A second thread starts with another id", "The session stays the first one")
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


@pytest.mark.fault("stream", "A hundred thousand counts of usage, and counts beyond 64 bits", "Some of them are told")
@pytest.mark.fault("stream", "A plan and a list of changes of fifty thousand entries", "An event within its bounds")
@pytest.mark.fault("stream", "Ids, type names and messages of a megabyte", "Events within their bounds")
@pytest.mark.rule("B3", "B4", "M6", "T4")
@pytest.mark.parametrize("name", BIG)
def test_a_line_with_something_huge_in_it_is_a_bounded_event(name: str) -> None:
    _, event, after = events_of(THREAD, as_line(BIG[name]), AFTER)
    assert after.text == "after"
    assert len(msgspec.json.encode(event)) < 70_000
