"""Test text in pieces: any split yields the same text, errors are found, and memory is bounded."""

from __future__ import annotations

import base64
import binascii
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Raw

from codex_adapter.protocols.operations.encoding import encode_events_message, event_pieces, events_message_pieces
from codex_adapter.protocols.operations.events import ReadFileEvent
from codex_adapter.protocols.operations.text_pieces import PIECE, Text, check_utf8, from_base64
from tests.widths import crossed

from ...rows import rows

pytestmark = pytest.mark.rule("O3")

MIB = 1024 * 1024
TEXTS = st.text(st.sampled_from('ab\\"/\n\té€😀\u2028ud8e0'), max_size=120) | st.text(max_size=60)
SIZES = st.integers(16, 40)


@given(TEXTS, SIZES, st.booleans())
@example("\\" * 100, 17, True)
@example("😀" * 20, 16, True)
@example("\\ud83d\n" * 9, 16, True)
@example("a" + "\\u" * 50, 16, False)
def test_the_text_of_a_json_string_is_the_same_wherever_it_is_cut(text: str, size: int, ascii_only: bool) -> None:
    pieces = list(Text.of_json(Raw(json.dumps(text, ensure_ascii=ascii_only).encode()), size=size).pieces())
    assert "".join(piece.decode() for piece in pieces) == text
    assert all(len(piece) <= size for piece in pieces)


@rows("size", range(16, 40))
@rows("escape", [r"\ud83d\ude00", r"\uD83D\uDE00", r"\u00e9", r"\\ud83d", r"\/", r"\\\ud83d\ude00", "😀"])
def test_every_escape_is_read_at_every_place(escape: str, size: int) -> None:
    for before in range(size):
        given_json = f'"{"a" * before}{escape * 5}"'
        assert Text.of_json(Raw(given_json.encode()), size=size).text() == json.loads(given_json)


@given(st.text(st.sampled_from("\\ud83de0caAn1"), max_size=60), SIZES)
def test_what_is_no_unicode_is_refused_wherever_it_is_cut(inner: str, size: int) -> None:
    given_json = f'"{inner}"'
    try:
        expected = json.loads(given_json)
    except ValueError:
        return
    text = Text.of_json(Raw(given_json.encode()), size=size)
    if any("\ud800" <= character <= "\udfff" for character in expected):
        with pytest.raises(msgspec.DecodeError):
            text.text()
    else:
        assert text.text() == expected


@given(st.binary(max_size=200), st.lists(st.integers(0, 300), max_size=6))
def test_base64_is_the_same_wherever_it_is_cut(data: bytes, cuts: Sequence[int]) -> None:
    assert b"".join(from_base64(cut(base64.b64encode(data), cuts))) == data


@rows("cuts", [[], [1], [2], [3], [4], [5], [8], [4, 8], list(range(12))])
@rows(
    "wrong",
    [
        b"Q",
        b"QQ",
        b"QQ=",
        b"QR==",
        b"QUF=",
        b"QQ==QQ==",
        b"QQ== ",
        b"QQ==\n",
        b" QQ==",
        b"Q-_=",
        b"QQ===",
        b"====",
        b"Q=Q=",
        b"QUJD=",
        b"QUJDQ",
        b"\xc3\xa9AA",
    ],
)
def test_what_is_no_base64_is_refused_wherever_it_is_cut(wrong: bytes, cuts: Sequence[int]) -> None:
    with pytest.raises(binascii.Error):
        list(from_base64(cut(wrong, cuts)))


@given(TEXTS, SIZES)
def test_a_text_file_becomes_a_json_string_on_one_line(text: str, size: int) -> None:
    pieces = list(Text.of_file(text.encode(), "utf-8", size=size).json_pieces())
    assert json.loads(b"".join(pieces)) == text
    assert not set(b"".join(pieces).decode()) & set("\n\r\u2028\u2029")


@given(st.binary(max_size=200), SIZES)
def test_any_file_becomes_a_json_string_of_base64(data: bytes, size: int) -> None:
    text = Text.of_file(data, "base64", size=size)
    assert base64.b64decode(json.loads(b"".join(text.json_pieces())), validate=True) == data
    assert text.text() == base64.b64encode(data).decode()


@pytest.mark.parametrize("data", [b"\xff", b"a\xe2\x82", b"\xed\xa0\x80", b"a" * (PIECE - 1) + b"\xe2\x82"])
def test_a_file_that_is_no_text_is_refused_at_once(data: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        Text.of_file(data, "utf-8")


def test_a_character_across_the_border_of_pieces_is_utf8() -> None:
    check_utf8(b"a" * (PIECE - 1) + "€".encode())


def test_texts_are_equal_by_what_they_say_and_never_show_it() -> None:
    assert Text.of("é") == Text.of_json(Raw(b'"\\u00e9"')) == Text.of_file("é".encode(), "utf-8")
    assert Text.of("a") != Text.of("b")
    assert Text.of("a") != "a"
    assert "secret" not in repr(Text.of("secret"))


@pytest.mark.rule("O4")
def test_the_pieces_of_events_are_the_message_and_the_next_event_is_asked_for_when_it_is_due() -> None:
    content = Text.of_file(b"x" * (3 * PIECE), "utf-8")
    event = ReadFileEvent(timestamp="t", path="a", success=True, content=content, encoding="utf-8", size=3 * PIECE)
    asked: list[int] = []

    def events() -> Iterator[ReadFileEvent | bytes]:
        for number in range(2):
            asked.append(number)
            yield event
        yield b'{"type":"message"}'

    pieces = events_message_pieces("run_1", "completed", events())
    assert next(pieces) == b'{"protocolVersion":"1.0","runId":"run_1","status":"completed","events":['
    assert (next(pieces)[:8], asked) == (b'{"type":', [0])
    whole = encode_events_message("run_1", "completed", [event, event, b'{"type":"message"}'])
    assert max(map(len, event_pieces(event))) == PIECE
    assert json.loads(whole)["events"][0]["content"] == "x" * (3 * PIECE)
    assert json.loads(whole)["events"][2] == {"type": "message"}


MEASURE = """
import base64, json, sys, tracemalloc
from codex_adapter.protocols.operations.encoding import events_message_pieces
from codex_adapter.protocols.operations.messages import read_message
from codex_adapter.protocols.operations.text_pieces import Text
from codex_adapter.protocols.operations.validation import read_operation
from codex_adapter.protocols.operations.events import ReadFileEvent

SIZE = 10 * 1024 * 1024
encoding = "base64" if sys.argv[1] == "base64" else "utf-8"
data = {
    "plain": lambda: b"a" * SIZE,
    "escapes": lambda: b"\\n\\"" * (SIZE // 2),
    "one emoji": lambda: b"a" * (SIZE - 4) + "\\U0001f600".encode(),
    "umlauts": lambda: "\\u00e4".encode() * (SIZE // 2),
    "base64": lambda: bytes(range(256)) * (SIZE // 256),
}[sys.argv[1]]()
assert len(data) == SIZE
content = base64.b64encode(data).decode() if encoding == "base64" else data.decode()
operation = {"type": "createFile", "path": "a", "content": content, "encoding": encoding}
escaped = sys.argv[2] == "escaped"
line = json.dumps({"protocolVersion": "1.0", "operations": [operation]}, ensure_ascii=escaped).encode()
del operation, content
json.dumps({}), read_message(b'{"protocolVersion":"1.0","operations":[]}')  # what is made once

tracemalloc.start()
[given] = read_message(line).operations
operation = read_operation(given)
place = 0
for piece in operation.pieces():
    assert piece == data[place : place + len(piece)]
    place += len(piece)
assert place == SIZE
peak = [tracemalloc.get_traced_memory()[1]]
tracemalloc.reset_peak()
event = ReadFileEvent(timestamp="t", path="a", success=True, content=Text.of_file(data, encoding), size=SIZE)
written = sum(map(len, events_message_pieces("run_1", "completed", [event])))
assert written > SIZE
peak.append(tracemalloc.get_traced_memory()[1])
print(json.dumps(peak))
"""


@pytest.mark.parametrize(
    ("content", "escapes"), crossed(["plain", "escapes", "one emoji", "umlauts", "base64"], ["escaped", "as it is"])
)
@pytest.mark.fault(
    "resources",
    "One operation contains a 10 MiB file as plain text, escapes, emoji or base64",
    "The runtime processes it in pieces; extra memory stays below the file size",
)
def test_a_file_of_ten_mebibytes_is_taken_in_and_given_out_in_pieces(content: str, escapes: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, content, escapes], capture_output=True, check=True, text=True, timeout=120
    )
    reading, writing = json.loads(done.stdout)
    assert reading < 4 * MIB
    assert writing < 4 * MIB


def cut(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    places = [0, *sorted(min(place, len(data)) for place in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(places)]
