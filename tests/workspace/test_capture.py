"""Test bounded capture: both ends of the output remain, and the missing bytes are counted."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.workspace.capture import KEEP, Capture, Captured

pytestmark = pytest.mark.rule("H11")

KEEPS = st.integers(0, 40)
PIECES = st.lists(st.binary(max_size=30), max_size=20)


def captured(pieces: list[bytes], keep: int) -> Captured:
    capture = Capture(keep)
    for piece in pieces:
        capture.add(piece)
    return capture.captured()


@given(pieces=PIECES, keep=KEEPS)
def test_both_ends_are_true_and_every_byte_is_kept_or_counted(pieces: list[bytes], keep: int) -> None:
    whole = b"".join(pieces)
    result = captured(pieces, keep)
    assert whole.startswith(result.head)
    assert whole.endswith(result.tail)
    assert len(result.head) + result.left_out + len(result.tail) == len(whole)
    assert len(result.head) + len(result.tail) <= keep
    assert bool(result.left_out) == (len(whole) > keep)


@given(pieces=PIECES, keep=KEEPS)
def test_no_more_is_left_out_than_the_bound_and_whole_characters_make_necessary(pieces: list[bytes], keep: int) -> None:
    whole = b"".join(pieces)
    result = captured(pieces, keep)
    assert len(result.head) + len(result.tail) >= min(len(whole), keep) - 6


@given(text=st.text(max_size=300), cuts=st.lists(st.integers(0, 1200), max_size=10), keep=KEEPS)
def test_what_is_utf_8_stays_so_on_both_sides_of_the_gap(text: str, cuts: list[int], keep: int) -> None:
    whole = text.encode()
    bounds = [0, *sorted(cuts), len(whole)]
    result = captured([whole[start:end] for start, end in pairwise(bounds)], keep)
    head, tail = result.head.decode(), result.tail.decode()
    if result.left_out:
        assert result.text() == f"{head}\n[... {result.left_out} bytes left out ...]\n{tail}"
    else:
        assert result.text() == text


@given(pieces=PIECES, keep=KEEPS)
def test_asking_early_changes_nothing(pieces: list[bytes], keep: int) -> None:
    capture = Capture(keep)
    for piece in pieces:
        capture.captured()
        capture.add(piece)
    assert capture.captured() == captured(pieces, keep)


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"", ""), (b"plain\n", "plain\n"), (b"a\xffb\xc3", "a\ufffdb\ufffd"), ("\N{SNOWMAN}".encode(), "\N{SNOWMAN}")],
    ids=["nothing", "ASCII", "no UTF-8", "one character"],
)
def test_what_is_not_too_long_is_there_to_the_byte(data: bytes, text: str) -> None:
    result = captured([data], keep=6)
    assert result == Captured(data)
    assert result.text() == text


@pytest.mark.fault("workspace", "A command prints without end", "Memory stays constant, and the rest is counted")
def test_memory_does_not_grow_with_the_output() -> None:
    capture = Capture(1000)
    sizes = set()
    for number in range(5000):
        capture.add(b"x" * (1 + 37 * number % 900))
        sizes.add(sys.getsizeof(capture._head) + sys.getsizeof(capture._tail))
    assert max(sizes) < 5000
    assert capture.captured().left_out > 1_000_000


def test_the_two_halves_of_the_default_bound_are_alike() -> None:
    result = captured([b"a" * KEEP, b"b" * KEEP], KEEP)
    assert (len(result.head), result.left_out, len(result.tail)) == (KEEP // 2, KEEP, KEEP // 2)
