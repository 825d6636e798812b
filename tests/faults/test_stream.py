"""Test bad output: cut, torn, flooded, malformed, out of order, or in the wrong encoding."""

from __future__ import annotations

import codecs
import re

import msgspec
import pytest
import trio
from trio.testing import MockClock

from codex_adapter import BackendError, Completion, ExitStatus, RunConfig
from codex_adapter.events import Plan, ToolCall
from codex_adapter.testing.source import Step

from ..agents.agent_lines import SESSION, AgentLines, as_line
from ..agents.table import AGENTS, each_agent
from ..rows import rows
from ..runtime.scripted import running, texts
from .lines import VALUES, events_of, told, with_each_field_replaced
from .verdict import closes

BAD = re.compile(r"[a-z_]+ stream (parse|normalize) error \(redacted\): [a-zA-Z0-9_ -]+ \(line_bytes=[0-9]+\)")
MOST_CUTS = 4_000
"""Places in the recording, besides all places in its last line."""
OTHER_SESSION = "01a20018-057d-7ce3-b0c7-ffffffffffff"


def is_bad(text: str | None) -> bool:
    return text is not None and BAD.fullmatch(text) is not None


async def completion_of(agent: AgentLines, *script: bytes) -> Completion:
    async with running(list(script), lines=agent) as (run, _):
        await run.events.aclose()
        return await run.wait_completed()


@pytest.mark.fault(
    "stream",
    "The stream ends at any byte",
    "The adapter yields the events before the cut, at most one error, and a turn cut off",
)
@pytest.mark.rule("L3", "L5", "F2")
@each_agent
def test_a_stream_cut_at_any_byte_gives_the_events_before_the_cut(agent: AgentLines) -> None:
    recorded = agent.recorded
    whole = events_of(agent, recorded)
    last = recorded.rstrip(b"\n").rfind(b"\n")
    pieces = len(recorded) // MOST_CUTS + 1
    for cut in sorted({*range(0, len(recorded), pieces), *range(last, len(recorded))}):
        data = recorded[:cut]
        pipeline = agent.pipeline()
        events = pipeline.receive_data(data)
        assert events == whole[: len(events)]
        at_end = pipeline.receive_eof()
        calls = [(event.kind, event.data.tool.phase) for event in events + at_end if isinstance(event.data, ToolCall)]
        assert calls.count(("tool_call", "start")) == sum(kind == "tool_result" for kind, _ in calls)
        before = len(events)
        events += [event for event in at_end if not closes(event)]
        torn = events[before:]
        assert torn == whole[before : len(events)] or (len(torn) == 1 and is_bad(torn[0].message))
        turn = pipeline.completion(ExitStatus(code=0)).turn
        assert turn in ({"completed"} if events == whole else {None, "cut_off"})


@pytest.mark.fault(
    "stream",
    "The agent closes stdout at or inside any line and keeps running",
    "After a grace period the run ends: it fails during a turn and completes after a turn",
)
@pytest.mark.rule("F8", "K6", "L3")
@each_agent
def test_stdout_closed_anywhere_by_a_living_agent_ends_the_run(agent: AgentLines) -> None:
    recorded = agent.recorded
    ends = [place + 1 for place, byte in enumerate(recorded) if byte == 10]
    for cut in sorted({0, *ends, *(end - 1 for end in ends), *(end - 9 for end in ends)}):

        async def run(cut: int = cut) -> None:
            script: list[Step] = [recorded[:cut]] if cut else []
            async with running(script, lines=agent, status=ExitStatus(signal="SIGINT")) as (run, source):
                source._exits_by_script = True
                last = (await texts(run))[-1]
                if cut >= len(recorded) - 1:
                    assert (await run.wait_completed()).turn == "completed"
                else:
                    assert last == f"{agent.kind} stream closed unexpectedly"
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
@each_agent
def test_a_foreign_byte_anywhere_in_a_line_spoils_that_line_alone(agent: AgentLines, byte: bytes) -> None:
    line = agent.tool("started").rstrip(b"\n")
    for place in range(len(line) + 1):
        odd = line[:place] + byte + line[place:] + b"\n"
        events = events_of(agent, agent.message("before") + odd + agent.message("after", 9))
        before, *found, after = (event for event in events if not closes(event))
        assert (before.text, after.text) == ("before", "after")
        assert len(found) <= (2 if byte == b"\n" else 1)
        assert all(event.kind == "tool_call" or is_bad(event.message) for event in found)


@pytest.mark.fault(
    "stream", "One read returns one million short lines", "Each line yields one event, in order, without delay"
)
@pytest.mark.rule("D2", "L1", "B6")
@each_agent
def test_a_flood_of_tiny_lines_in_one_read_is_an_event_each(agent: AgentLines) -> None:
    pipeline = agent.pipeline()
    for kind, line, count in (
        ("error", b"7\n", 200_000),
        ("unknown", b'{"type":"x"}\n', 100_000),
        (None, b"\n", 700_000),
    ):
        events = pipeline.receive_data(line * count)
        assert len(events) == (count if kind else 0)
        assert {event.kind for event in events} == ({kind} if kind else set())
    assert [event.text for event in pipeline.receive_data(agent.message("after"))] == ["after"]


@pytest.mark.fault(
    "stream", "Any field of any line is missing or has any wrong type", "Each line yields one event or one error"
)
@pytest.mark.rule("L4", "T4", "X1", "X2")
@rows(("kind", "number"), [(kind, number) for kind, agent in AGENTS.items() for number in range(len(agent.samples))])
def test_a_line_with_any_field_misshapen_has_one_outcome(kind: str, number: int) -> None:
    agent = AGENTS[kind]
    for value in VALUES:
        for changed in with_each_field_replaced(agent.samples[number], value):
            found = events_of(agent, agent.session(), as_line(changed), agent.message("after", 9))
            # An id that is too long, a plan and the close of a call have events of their own.
            found = [event for event in found if not closes(event) and not isinstance(event.data, Plan)]
            _, *others = (event for event in found if "session handle id" not in (event.message or ""))
            own = [event for event in others if event.text != "after"]
            assert len(own) == len(others) - 1
            assert len(own) <= 1 or {event.kind for event in own} == {"status"}
            assert all(is_bad(event.message) for event in own if event.kind == "error" and event.data is None)


@pytest.mark.fault("stream", "The whole output is UTF-16", "Each line yields one error; the completion has no turn")
@pytest.mark.fault(
    "stream",
    "The whole output is UTF-16 with its byte order mark",
    "Each line yields one error; the completion has no turn",
)
@pytest.mark.rule("L4", "F2")
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF16_LE])
@each_agent
async def test_output_in_utf_16_is_errors_and_no_turn(agent: AgentLines, mark: bytes) -> None:
    data = mark + agent.recorded.decode().encode("utf-16-le")
    assert all(is_bad(text) for text in told(agent, data))
    completion = await completion_of(agent, data)
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
@each_agent
async def test_output_without_a_line_is_a_run_without_a_turn(agent: AgentLines, script: list[bytes]) -> None:
    async with running([*script], lines=agent) as (run, _):
        assert await texts(run) == []
        completion = await run.wait_completed()
    assert completion == Completion(status=ExitStatus(code=0))


THREAD, TURN, DONE, FAILED, STARTED, CLOSED = "session", "turn", "completed", "failed", "started", "closed"


def line_of(agent: AgentLines, word: str) -> bytes:
    """Return the line of the agent that a word of an order means; any other word is a message."""
    lines = {TURN: agent.turn, DONE: agent.completed(), FAILED: agent.failed, THREAD: agent.session()}
    lines |= {STARTED: agent.tool("started"), CLOSED: agent.tool("completed")}
    return lines.get(word) or agent.message(word)


ORDERS = [
    pytest.param(
        [THREAD, TURN, CLOSED, STARTED, DONE],
        ["status", "status", "tool_result", "tool_call", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault(
            "stream",
            "A tool call completes before it starts",
            "Both events keep their order, and the adapter closes the call once more",
        ),
    ),
    pytest.param(
        ["early", STARTED, THREAD, TURN, DONE],
        ["text_output", "tool_call", "status", "status", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "Items arrive before the thread starts", "Their events have no thread id"),
    ),
    pytest.param(
        [THREAD, TURN, TURN, "a", DONE],
        ["status", "status", "status", "text_output", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "Two turns are open at once", "The later turn determines the outcome"),
    ),
    pytest.param(
        [THREAD, TURN, DONE, FAILED],
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
        [THREAD, TURN, DONE, "late", STARTED, CLOSED],
        ["status", "status", "status", "text_output", "tool_call", "tool_result"],
        "completed",
        marks=pytest.mark.fault(
            "stream",
            "Items arrive after the end of the turn",
            "The adapter reports them; a late message becomes the final text",
        ),
    ),
    pytest.param(
        [THREAD, TURN, CLOSED, DONE],
        ["status", "status", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault("stream", "A tool call that never started completes", "The adapter reports its result"),
    ),
    pytest.param(
        [THREAD, TURN, STARTED, DONE],
        ["status", "status", "tool_call", "tool_result", "status"],
        "completed",
        marks=pytest.mark.fault(
            "stream",
            "A tool call never completes",
            "The adapter closes it with an unknown result before the end of the turn",
        ),
    ),
    pytest.param(
        [THREAD, TURN, STARTED, STARTED, CLOSED, CLOSED, DONE],
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
@each_agent
async def test_an_order_that_cannot_be_is_told_as_it_came(
    agent: AgentLines, script: list[str], kinds: list[str], turn: str
) -> None:
    lines: list[Step] = [line_of(agent, word) for word in script]
    async with running(lines, lines=agent, config=RunConfig(idle_timeout=60)) as (run, _):
        events = [event async for event in run.events]
        completion = await run.wait_completed()
    # An agent may report why a turn fails before its end.
    assert [event.kind for event in events if event.kind != "error" or FAILED not in script] == kinds
    assert completion.turn == turn
    assert completion.final_text == next((event.text for event in reversed(events) if event.text), None)


@pytest.mark.fault("stream", "A second thread starts with another id", "The session keeps the id of the first thread")
@pytest.mark.rule("M5", "T3")
@each_agent
async def test_the_session_is_that_of_the_first_thread(agent: AgentLines) -> None:
    other = agent.session(OTHER_SESSION)
    completion = await completion_of(agent, agent.session(), agent.turn, other, agent.message("a"), agent.completed())
    assert completion.session_id == SESSION


@pytest.mark.fault(
    "stream",
    "A usage record has 100,000 counts, or counts beyond 64 bits",
    "The event contains a bounded number of them",
)
@pytest.mark.fault("stream", "A plan or a list of changes has 50,000 entries", "The event stays within its size limits")
@pytest.mark.fault("stream", "An id, type name or message has 1 MB", "The event stays within its size limits")
@pytest.mark.rule("B3", "B4", "M6", "T4")
@each_agent
def test_a_line_with_something_huge_in_it_is_a_bounded_event(agent: AgentLines) -> None:
    for value in agent.huge():
        found = events_of(agent, agent.session(), as_line(value), agent.message("after", 9))
        assert len(found) > 2
        assert [event.text for event in found].count("after") == 1
        assert all(len(msgspec.json.encode(event)) < 70_000 for event in found)
