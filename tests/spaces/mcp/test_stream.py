"""Test that any server output, split anywhere, yields tool names or a typed error."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.spaces.mcp import ServerError
from codex_adapter.spaces.mcp.protocol import LineSplitter, ServerRequest, build_answer, read_messages
from codex_adapter.spaces.mcp.stdio import StdioSession
from codex_adapter.spaces.mcp.streamable_http import Body, EventBody, JsonBody

from ...rows import rows

pytestmark = pytest.mark.rule("U11")

WORDS = ("jsonrpc", "id", "method", "params", "result", "error", "code", "tools", "name", "nextCursor", "cursor")
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from([*WORDS, "ping", "2.0", "2025-06-18", "", "capabilities", "protocolVersion"]),
    st.text(max_size=5),
    st.just("\ud800"),
)
KEYS = st.sampled_from([*WORDS, "protocolVersion", "capabilities"]) | st.text(max_size=3)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=8,
)
WELCOME = {"protocolVersion": "2025-06-18", "capabilities": {}}
PAGES = st.fixed_dictionaries(
    {"tools": st.lists(st.fixed_dictionaries({"name": st.text(max_size=4) | VALUES}), max_size=3)},
    optional={"nextCursor": st.none() | st.text(max_size=3) | VALUES},
)
RESULTS = st.one_of(st.just(WELCOME), PAGES, VALUES)
MESSAGES = st.one_of(
    st.fixed_dictionaries({"id": st.integers(1, 4), "result": RESULTS}),
    st.fixed_dictionaries({"id": SCALARS, "method": SCALARS}),
    st.fixed_dictionaries({"id": st.integers(1, 4), "error": VALUES}),
    VALUES,
)
LINES = st.one_of(MESSAGES.map(lambda message: json.dumps(message).encode()), st.binary(max_size=30))
GOOD = [json.dumps({"id": 1, "result": WELCOME}).encode()]
STREAMS = st.one_of(
    st.binary(max_size=200),
    st.lists(LINES, max_size=6).map(b"\n".join),
    st.lists(LINES, max_size=5).map(lambda lines: b"\n".join([*GOOD, *lines, b""])),
)


@given(STREAMS)
def test_any_output_comes_to_names_or_an_error_of_ours(stream: bytes) -> None:
    names = trio.run(_names, stream)
    assert all(name.isprintable() and 0 < len(name) <= 256 for name in names)
    assert len(set(names)) == len(names)


async def _names(stream: bytes) -> tuple[str, ...]:
    """What a server comes to that says all this, hears nothing, and ends."""
    reading, output = os.pipe()
    os.write(output, stream)
    os.close(output)
    unheard, writing = os.pipe()
    async with trio.lowlevel.FdStream(writing) as stdin, trio.lowlevel.FdStream(reading) as stdout:
        with suppress(ServerError):
            try:
                return await StdioSession(stdin, stdout).list_tools()
            finally:
                os.close(unheard)
        return ()


@given(MESSAGES)
def test_whatever_is_asked_can_be_answered(message: Any) -> None:
    for said in read_messages(json.dumps(message).encode()):
        if isinstance(said, ServerRequest):
            told = json.loads(build_answer(said))
            assert told["id"] == said.id
            assert ("result" in told) == (said.method == "ping")


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_lines_are_the_same_however_they_are_cut(stream: bytes, cuts: list[int]) -> None:
    lines = LineSplitter()
    found = [line for piece in _cut(stream, cuts) for line in lines.feed(piece)]
    assert found == stream.split(b"\n")[:-1]


FIELDS = st.sampled_from(
    [
        b"data: a",
        b"data:b",
        b"data",
        b"data:  c",
        b"event: message",
        b": aside",
        b"id: 1",
        b"",
        b"",
        b"\xef\xbb\xbfdata: d",
    ]
)


@given(st.lists(st.tuples(FIELDS, st.sampled_from([b"\n", b"\r\n"]))), st.lists(st.integers(0, 200), max_size=6))
def test_events_are_the_same_however_they_are_cut(fields: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    stream = b"".join(field + ending for field, ending in fields)
    assert _bodies(EventBody(), _cut(stream, cuts)) == _bodies(EventBody(), [stream])


@pytest.mark.parametrize(
    ("stream", "messages"),
    [
        (b'data: {"a":1}\n\n', [b'{"a":1}']),
        (b'event: message\r\nid: 7\r\ndata: {"a":\r\ndata: 1}\r\n\r\n', [b'{"a":\n1}']),
        (b"\xef\xbb\xbfdata: 1\n\n: aside\n\ndata:2\n\n", [b"1", b"2"]),
        (b"data\n\ndata:\n\nretry: 5\n\n", []),
        (b"data: no end\n", []),
    ],
)
def test_events_hold_messages(stream: bytes, messages: list[bytes]) -> None:
    assert [message for message in _bodies(EventBody(), [stream]) if message.strip()] == messages


@rows("body", [JsonBody, EventBody])
@rows("piece", [b"x" * 65_536, b"data: x\n" * 8_192, b"\n" * 65_536])
def test_what_is_too_long_is_refused(body: type[Body], piece: bytes) -> None:
    with pytest.raises(ServerError):
        _bodies(body(), [piece] * 2_000)


def _cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cuts), len(stream)]
    return [stream[start:end] for start, end in pairwise(places)]


def _bodies(body: Body, pieces: list[bytes]) -> list[bytes]:
    return [message for piece in pieces for message in body.feed(piece)] + body.close()
