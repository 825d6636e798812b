"""Test the split of bytes into lines against a stateless reference, for any bytes, cuts and limits."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codex_adapter.core.framing import Line, LineFramer, OversizeLine, content_of

from ..rows import rows

PIECES = st.sampled_from(
    [b"\n", b"\r", b"\r\n", b" ", b"\t", b"\x0b\x0c", b"x", b"}", b"{}", b"\0", "\u2028".encode(), "\x85".encode()]
)
STREAMS = st.lists(PIECES | st.binary(max_size=6), max_size=30).map(b"".join)
MIB = 1024 * 1024


def framed(limit: int, *reads: bytes) -> list[bytes | OversizeLine]:
    framer = LineFramer(limit)
    lines: list[Line] = []
    for read in reads:
        lines += framer.receive_data(read)
    lines += framer.receive_eof()
    contents = (line if isinstance(line, OversizeLine) else bytes(content_of(line)) for line in lines)
    return [content for content in contents if content != b""]


def reference(limit: int, data: bytes) -> list[bytes | OversizeLine]:
    lines: list[bytes | OversizeLine] = []
    for line in data.split(b"\n"):
        kept = line.removesuffix(b"\r")
        if len(kept) > limit:
            lines.append(OversizeLine(len(kept), limit))
        elif kept.strip():
            lines.append(kept)
    return lines


@pytest.mark.fault(
    "stream", "Any byte sequence is split into reads at any position", "The lines are the same as in one read"
)
@pytest.mark.rule("L1", "L2", "L3", "L5")
@given(STREAMS, st.lists(st.integers(0, 200), max_size=8), st.integers(0, 12) | st.just(1000))
@example(b"abc\r", [3], 3)
@example(b"abc\r\r\n", [3, 4, 5], 3)
@example(b"abcdef\nx\n", [2, 6], 3)
@example(b"abcd\n}\n", [4], 3)
def test_any_bytes_cut_anywhere_give_the_lines_of_the_whole(data: bytes, cuts: list[int], limit: int) -> None:
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    reads = [data[start:end] for start, end in pairwise(places)]
    assert framed(limit, *reads) == reference(limit, data)


@pytest.mark.fault("stream", "Any byte sequence arrives one byte at a time", "The lines are the same as in one read")
@pytest.mark.rule("L5")
@given(STREAMS, st.integers(0, 12))
def test_single_bytes_give_the_lines_of_the_whole(data: bytes, limit: int) -> None:
    assert framed(limit, *(bytes([byte]) for byte in data)) == reference(limit, data)


@pytest.mark.fault(
    "stream",
    "A line contains U+2028, a form feed, a lone carriage return or other line separators",
    "The parser treats them as data",
)
@pytest.mark.rule("L1")
@rows("inside", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e", "\r", "\r\r", "\0", "\ufeff"])
def test_nothing_but_a_newline_ends_a_line(inside: str) -> None:
    line = f'{{"text":"a{inside}b"}}'.encode()
    assert framed(100, line + b"\n" + line + b"\n") == [line, line]


@pytest.mark.fault(
    "stream", "Several carriage returns precede the newline", "The parser drops one; the others are data"
)
@pytest.mark.rule("L1")
def test_one_carriage_return_before_the_newline_is_dropped() -> None:
    assert framed(100, b"a\r\n", b"b\r\r\n", b"c\rd\n") == [b"a", b"b\r", b"c\rd"]


@pytest.mark.rule("L1")
@rows("blank", [b"", b" ", b"\t \t", b"\r", b"\r\r\r", b" \r", b"\x0b\x0c"])
def test_a_line_of_white_space_is_no_line(blank: bytes) -> None:
    assert framed(100, b"a\n" + blank + b"\nb\n" + blank) == [b"a", b"b"]


@pytest.mark.rule("L1")
def test_white_space_around_a_line_is_kept() -> None:
    assert framed(100, b"  {} \n\t{}\n") == [b"  {} ", b"\t{}"]


@pytest.mark.fault(
    "stream",
    "A line is one byte over the limit, split anywhere, with any line ending",
    "The parser skips it; a line of exactly the limit is valid",
)
@pytest.mark.rule("L2")
@rows("ending", [b"\n", b"\r\n", b"", b"\r"])
@rows("last", [b"x", b"}"])
def test_a_line_of_exactly_the_limit_is_a_line_and_one_byte_more_is_not(ending: bytes, last: bytes) -> None:
    fits, long = b"a" * 9 + last, b"a" * 10 + last
    for line, expected in ((fits, fits), (long, OversizeLine(11, 10))):
        whole = line + ending
        assert framed(10, whole) == [expected]
        for cut in range(len(whole) + 1):
            assert framed(10, whole[:cut], whole[cut:]) == [expected]


@pytest.mark.rule("L2")
def test_the_length_of_an_oversize_line_counts_all_but_its_ending() -> None:
    assert framed(4, b"aaaaa\r", b"\n") == [OversizeLine(5, 4)]
    assert framed(4, b"aaaaa\r", b"b\n") == [OversizeLine(7, 4)]
    assert framed(4, b"aaaaa", b"\r", b"\r", b"\n") == [OversizeLine(6, 4)]
    assert framed(4, b"aaaa", b"a", b"a" * 100) == [OversizeLine(105, 4)]


@pytest.mark.rule("L2")
def test_a_line_is_known_to_be_oversize_before_it_ends() -> None:
    framer = LineFramer(4)
    told = [(framer.receive_data(data), framer.skipping) for data in (b"abcd", b"e", b"fgh", b"\n")]
    assert told == [([], False), ([], False), ([], True), ([OversizeLine(8, 4)], False)]


@pytest.mark.rule("L2")
def test_the_neighbours_of_an_oversize_line_are_untouched() -> None:
    assert framed(4, b"one\nfar too", b" long", b"\ntwo\nthree\nfour") == [
        b"one",
        OversizeLine(12, 4),
        b"two",
        OversizeLine(5, 4),
        b"four",
    ]


@pytest.mark.rule("L2")
def test_a_limit_of_one_run_counts_for_each_line_alone() -> None:
    assert framed(3, *[b"abc\n"] * 5, *[b"abcd\n"] * 2) == [b"abc"] * 5 + [OversizeLine(4, 3)] * 2


@pytest.mark.fault("stream", "A line never ends", "Memory does not grow with the line")
@pytest.mark.rule("L2")
def test_memory_does_not_grow_with_the_line() -> None:
    framer, read = LineFramer(100_000), b"x" * 65_536
    tracemalloc.start()
    try:
        for _ in range(32 * MIB // len(read)):
            assert framer.receive_data(read) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MIB
    assert framer.receive_data(b"\n{}\n") == [OversizeLine(32 * MIB, 100_000), b"{}\n"]


@pytest.mark.rule("L2")
def test_what_was_held_of_a_line_is_given_back_when_it_is_too_long() -> None:
    framer = LineFramer(4 * MIB)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        framer.receive_data(b"x" * 4 * MIB)
        framer.receive_data(b"xxxx")
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < MIB


@pytest.mark.rule("L3")
@pytest.mark.parametrize("reads", [[b"a\nb"], [b"a\n", b"b"], [b"a", b"\n", b"b", b""]])
def test_bytes_after_the_last_newline_are_a_line_at_the_end(reads: list[bytes]) -> None:
    assert framed(10, *reads) == [b"a", b"b"]


@pytest.mark.rule("L3")
def test_the_end_of_a_stream_that_ends_in_a_newline_gives_nothing() -> None:
    framer = LineFramer(10)
    assert framer.receive_data(b"a\n") == [b"a\n"]
    assert framer.receive_eof() == []
