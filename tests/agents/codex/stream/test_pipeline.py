"""Test the pipeline from bytes to events: recordings against goldens, and streams that are split anywhere."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.core.error_texts import non_zero_exit_text
from codex_adapter.core.notices import error_event
from codex_adapter.core.pipeline import Pipeline, number_events
from codex_adapter.events import Event, ExitStatus
from codex_adapter.records import encode_completion, encode_events

from ....rows import rows

SECRET = "correct-horse-battery-staple"
OK = ExitStatus(code=0)


def records(reads: Iterable[bytes], returncode: int = 0, pipeline: Pipeline | None = None) -> bytes:
    """What a run gives out: the events, that of a failed agent included, and the completion."""
    pipeline = pipeline or codex_pipeline()
    events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
    status = ExitStatus.from_returncode(returncode)
    if not status.success:
        events += number_events([error_event("codex", non_zero_exit_text("codex", status))], len(events))
    return encode_events(events) + encode_completion(len(events), pipeline.completion(status))


def cut_at_random(data: bytes, random: Random) -> Iterator[bytes]:
    largest = random.choice([2, 30, 300, 5_000])
    while data:
        size = random.randint(1, largest)
        yield data[:size]
        data = data[size:]


TEXTS = st.one_of(
    st.text(max_size=8),
    st.just(f"it is {SECRET}"),
    st.sampled_from([SECRET[:9], SECRET[9:], "sk-" + "a" * 20, "turn failed", "\u2028\x85\x0c\r", "\\n", "\U0001f600"]),
    st.builds(
        lambda before, character, count, after: before * (count % 7) + character * count + after,
        st.sampled_from(["x", "\u00e9"]),
        st.sampled_from(["x", "\u20ac", "\x01", '"', " "]),
        st.sampled_from([1_020, 1_340, 4_000, 4_096, 21_840, 65_530, 65_536]),
        st.sampled_from(["", SECRET, "sk-" + "a" * 20, " sk-" + "a" * 20]),
    ),
)
PHASES = ("started", "updated", "completed", "failed", "created", "delta", "moved")
ITEM_TYPES = [
    *("agent_message", "reasoning", "command_execution", "file_change", "mcp_tool_call", "collab_tool_call"),
    *("web_search", "todo_list", "error", "tomorrow"),
]
ITEM_LINES = st.builds(
    lambda phase, item_type, item_id, text: {
        "type": f"item.{phase}",
        "item": {
            **{"id": item_id, "type": item_type, "text": text, "message": text, "tool": text, "command": text},
            **{"aggregated_output": text, "result": [text], "items": [{"text": text}], "query": text},
        },
    },
    st.sampled_from(PHASES),
    st.sampled_from(ITEM_TYPES),
    st.sampled_from(["item_0", "item_1"]) | TEXTS,
    TEXTS,
)
OTHER_LINES = st.one_of(
    st.builds(lambda text: {"type": "thread.started", "thread_id": text}, TEXTS),
    st.builds(lambda text: {"type": "turn.started", "turn_id": text}, TEXTS | st.none()),
    st.builds(lambda text: {"type": "turn.completed", "usage": {text: 1, "input_tokens": 2}}, TEXTS),
    st.builds(lambda text: {"type": "turn.failed", "thread_id": text}, TEXTS),
    st.builds(lambda text: {"type": "error", "message": text}, TEXTS),
    st.builds(lambda text: {"type": text, "item_type": text}, TEXTS),
    st.builds(lambda text: [text], TEXTS),
)
LINES = st.one_of(
    (ITEM_LINES | OTHER_LINES).map(lambda line: json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    st.binary(max_size=8),
    st.sampled_from([b"", b" ", b"\r", b"{", b"x" * 70_000]),
)
STREAMS = st.tuples(st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\n\n"])), max_size=7), LINES).map(
    lambda parts: b"".join(line + ending for line, ending in parts[0]) + parts[1]
)
CUTS = st.lists(st.floats(0, 1), max_size=6)


@pytest.mark.rule("L5")
@given(STREAMS, CUTS, st.booleans())
@example(
    b'{"type":"thread.started","thread_id":"correct-horse-battery-staple"}\n'
    b'{"type":"item.started","item":{"id":"a","type":"web_search"}}\n',
    [0.5, 0.6],
    False,
)
@example(b'{"type":"turn.failed"}\n{"type":"error","message":"turn failed"}\n', [0.4], False)
def test_the_events_do_not_depend_on_the_cuts(stdout: bytes, cuts: list[float], full_payloads: bool) -> None:
    def pipeline() -> Pipeline:
        secrets = (SECRET, "turn failed", "item_0__")
        return codex_pipeline(full_payloads=full_payloads, secrets=secrets, max_line_bytes=150_000)

    places = [0, *sorted(int(cut * len(stdout)) for cut in cuts), len(stdout)]
    reads = [stdout[start:end] for start, end in pairwise(places)]
    whole = records([stdout], pipeline=pipeline())
    assert records(reads, pipeline=pipeline()) == whole
    by_line = [line + b"\n" for line in stdout.split(b"\n")]
    assert records([*by_line[:-1], by_line[-1][:-1]], pipeline=pipeline()) == whole


@pytest.mark.rule("B1", "B2", "B3", "B4", "B5", "B6", "X5", "W1")
@given(STREAMS, st.booleans())
def test_everything_that_comes_out_is_bounded_numbered_and_masked(stdout: bytes, full_payloads: bool) -> None:
    found = records([stdout], pipeline=codex_pipeline(full_payloads=full_payloads, secrets=(SECRET,)))
    assert SECRET.encode() not in found
    *events, completion = (json.loads(line) for line in found.decode().split("\n") if line)
    for seq, event in enumerate(events):
        assert event["seq"] == seq
        assert len(event.get("text", "").encode()) <= 65_536
        assert len(event.get("message", "").encode()) <= 4_096
        assert len(msgspec.json.encode(event.get("data"))) <= 65_536
    assert completion["seq"] == len(events)
    assert len(completion.get("final_text", "").encode()) <= 65_536
    assert len(completion.get("session_id", "").encode()) <= 1_024
    assert len(json.dumps(completion.get("usage"))) <= 65_536


@pytest.mark.rule("X1", "X2")
@rows(
    "bad",
    [
        b'{"type":"error","message":"canary"',
        b'{"type":"error","message":"canary\xff"}',
        b'["canary"]',
        b"\xef\xbb\xbfcanary",
        b'{"canary":"canary"}',
        b'{"type":"item.completed","item":{"type":"agent_message","canary":"canary"}}',
        b'{"type":"turn.completed","usage":"canary"}',
        b"canary" * 100_000,
    ],
    ids=lambda bad: bad[:30],
)
def test_a_bad_line_is_one_error_and_the_run_goes_on(bad: bytes) -> None:
    good = b'{"type":"error","message":"good"}\n'
    pipeline = codex_pipeline(max_line_bytes=100_000, full_payloads=True)
    events = pipeline.receive_data(good + bad + b"\n" + good) + pipeline.receive_eof()
    assert [event.kind for event in events] == ["error"] * 3
    assert [event.message for event in (events[0], events[2])] == ["good", "good"]
    assert f"(line_bytes={len(bad)})" in (events[1].message or "")
    assert events[1].data is None
    assert "canary" not in repr(events) + repr(pipeline.completion(OK))


@pytest.mark.rule("L3")
@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (b'{"type":"error","message":"good"}', "good"),
        (b'{"type":"error","mess', "codex stream parse error (redacted): malformed JSON at byte 21 (line_bytes=21)"),
        (b"   ", None),
        (b"", None),
    ],
)
def test_what_stands_after_the_last_newline_is_a_line_at_the_end(rest: bytes, message: str | None) -> None:
    pipeline = codex_pipeline()
    assert pipeline.receive_data(b"\n" + rest) == []
    assert [event.message for event in pipeline.receive_eof()] == ([] if message is None else [message])


@pytest.mark.rule("L2")
def test_the_limit_of_a_line_is_16_mib_unless_told_otherwise() -> None:
    def message(length: int) -> bytes:
        line = b'{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"%b"}}'
        return line % (b"x" * (length - len(line) + 2))

    limit = 16 * 1024 * 1024
    for stdout, kind in ((message(limit), "text_output"), (message(limit + 1), "error")):
        events = codex_pipeline().receive_data(stdout + b"\n")
        assert {event.kind for event in events} == {kind}
    assert events == [
        error_event(
            "codex", "codex stream parse error (redacted): line longer than 16777216 bytes (line_bytes=16777217)"
        )
    ]


@pytest.mark.rule("P4")
def test_a_run_of_nothing_gives_nothing() -> None:
    pipeline = codex_pipeline()
    events: list[Event] = [*pipeline.receive_data(b""), *pipeline.receive_eof()]
    assert events == []
    assert (
        records([])
        == b'{"type":"completion","seq":0,"outcome":"completed","ok":false,"status":{"code":0,"signal":null}}\n'
    )


@pytest.mark.rule("F2", "M5")
def test_the_session_is_known_as_soon_as_its_line_is() -> None:
    pipeline = codex_pipeline()
    assert pipeline.session_id is None
    pipeline.receive_data(b'{"type":"thread.started","thread_id":"T"}')
    assert pipeline.session_id is None
    pipeline.receive_data(b"\n")
    assert pipeline.session_id == "T"


@pytest.mark.rule("B6", "L4")
@given(st.lists(st.binary(max_size=3), max_size=3), st.sampled_from([b"message", b"x"]))
def test_whatever_the_bytes_of_a_text_its_event_can_be_encoded(parts: list[bytes], name: bytes) -> None:
    escapes: list[Any] = [b"\\ud83d", b"\\u0000", b"\\ud83d\\ude00"]
    text = b"".join(part + escapes[number % 3] for number, part in enumerate(parts))
    records([b'{"type":"error","message":"m","%b":"%b"}\n' % (name, text)])


@pytest.mark.rule("L2", "T4")
@pytest.mark.fault(
    "stream", "Many lines contain type names of 1 MB", "The decoder truncates the names and keeps no line in memory"
)
def test_long_names_are_not_kept() -> None:
    pipeline = codex_pipeline()
    tracemalloc.start()
    try:
        for number in range(20):
            pipeline.receive_data(b'{"type":"%d%s"}\n' % (number, b"y" * 1_000_000))
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()


STARTED = b'{"type":"turn.started"}'
FLAT = b'{"type":"item.completed","item_id":"a","item_type":"reasoning","text":"t"}'


@pytest.mark.fault(
    "stream",
    "A JSON document starts or ends in the middle of a line",
    "The decoder returns one error for each such line",
)
@pytest.mark.rule("L1", "L4", "L5")
@rows(
    "lines",
    [
        [STARTED + b"{", b'"type":"turn.started"}'],
        [STARTED + STARTED, b"", STARTED[:-1], b"}"],
        [FLAT + b"{", FLAT[1:]],
        [FLAT + STARTED, b"", FLAT[:-1], b"}"],
        [STARTED + b"," + STARTED, STARTED[:-1], b',"x":1}'],
    ],
)
@rows("before", [STARTED, FLAT])
def test_a_line_is_a_document_by_itself(lines: list[bytes], before: bytes) -> None:
    pipeline = codex_pipeline()
    data = b"\n".join([before, *lines, before, b""])
    kinds = [event.kind for event in pipeline.receive_data(data)]
    ordinary = "status" if before is STARTED else "text_output"
    assert kinds == [ordinary, *["error"] * len([line for line in lines if line]), ordinary]


@pytest.mark.rule("J9")
def test_the_bytes_of_a_line_that_has_not_ended_are_counted() -> None:
    pipeline = codex_pipeline()
    pipeline.receive_data(b'{"type":')
    assert pipeline.unfinished == 8
    pipeline.receive_data(b'"x"}\n')
    assert pipeline.unfinished == 0
