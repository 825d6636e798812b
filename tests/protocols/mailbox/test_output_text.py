"""Test the truncation of a command's output: both ends remain, with the number of missing bytes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.protocols.mailbox.output_text import KEPT_BYTES, output_text
from codex_adapter.workspace import Captured

pytestmark = pytest.mark.rule("I10")

_GAP = re.compile(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n")
_PIECES = st.sampled_from([b"a", b"\n", "\u00e9".encode(), "\U0001f600".encode(), b"\xff"])


def _captured(output: bytes) -> Captured:
    """As a capture keeps it, that cuts within no character: here there are none at its cuts."""
    half = KEPT_BYTES // 2
    if len(output) <= KEPT_BYTES:
        return Captured(output)
    return Captured(output[:half], len(output) - 2 * half, output[-half:])


def test_short_outputs_are_whole() -> None:
    assert output_text(_captured(b"out\n"), _captured(b"")) == "out"
    assert output_text(_captured(b""), _captured(b"err\n")) == "[stderr]\nerr"
    assert output_text(_captured(b"out\n"), _captured(b"err\n")) == "out\n[stderr]\nerr"
    assert output_text(_captured(b""), _captured(b"")) == ""
    assert output_text(_captured(b"x" * 4000), _captured(b"")) == "x" * 4000


def test_of_a_long_output_both_ends_are_kept_and_the_rest_is_counted() -> None:
    text = output_text(_captured(b"a" * 3000 + b"b" * 3000), _captured(b""))
    assert text == "a" * 2000 + "\n[... 2000 bytes left out ...]\n" + "b" * 2000


def test_one_output_may_have_what_the_other_leaves() -> None:
    text = output_text(_captured(b"a" * 10_000), _captured(b"e" * 100))
    assert text.count("a") == 3900
    assert text.endswith("\n[stderr]\n" + "e" * 100)
    text = output_text(_captured(b"q" * 10_000), _captured(b"z" * 10_000))
    assert (text.count("q"), text.count("z")) == (2000, 2000)


def test_bytes_that_a_capture_left_out_already_are_counted_too() -> None:
    output = b"a" * 1_000_000
    text = output_text(_captured(output), _captured(b""))
    assert text == "a" * 2000 + f"\n[... {len(output) - 4000} bytes left out ...]\n" + "a" * 2000


@given(st.lists(_PIECES, max_size=30), st.integers(1, 4000), st.lists(_PIECES, max_size=30), st.integers(0, 600))
def test_no_more_than_4000_characters_are_kept_and_no_byte_goes_uncounted(
    out: list[bytes], times_out: int, err: list[bytes], times_err: int
) -> None:
    outputs = [_repeated(b"".join(out), times_out), _repeated(b"".join(err), times_err)]
    parts = re.split(r"(?:^|\n)\[stderr\](?:\n|$)", output_text(*map(_captured, outputs)))
    assert sum(len(_GAP.sub("", part)) for part in parts) <= 4000
    if len(parts) == 1:
        assert not outputs[1]
    for part, output in zip(parts, outputs, strict=False):
        whole = output.decode(errors="surrogateescape")
        found = _GAP.search(part)
        if found is None:
            assert part == whole.encode(errors="surrogateescape").decode(errors="replace").removesuffix("\n")
        else:
            head, tail = found.start(), len(part) - found.end()
            tail += whole.endswith("\n")
            assert int(found[1]) == len(whole[head : len(whole) - tail].encode(errors="surrogateescape"))


def _repeated(piece: bytes, times: int) -> bytes:
    """Not more than a capture keeps whole."""
    return piece * min(times, KEPT_BYTES // max(1, len(piece)))
