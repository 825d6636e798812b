"""Test the replacement of lines in a file against a simple editor."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.protocols.mailbox.edits import EditFailed, replace_lines

from ...rows import rows

pytestmark = pytest.mark.rule("I9")


@rows(
    ("content", "start", "end", "replacement", "expected"),
    [
        (b"a\nb\nc\n", 2, 2, "x\n", b"a\nx\nc\n"),
        (b"a\nb\nc\n", 1, 3, "x\n", b"x\n"),
        (b"a\nb\nc\n", 2, 3, "", b"a\n"),
        (b"a\nb\nc\n", 1, 1, "x\ny\n", b"x\ny\nb\nc\n"),
        (b"a\nb", 2, 2, "x\n", b"a\nx"),
        (b"a\nb", 1, 1, "x\n", b"x\nb"),
        (b"a\r\nb\r\n", 2, 2, "x\ny\n", b"a\r\nx\r\ny\r\n"),
        (b"a\r\nb", 2, 2, "x\n", b"a\r\nx"),
        (b"a\rb\n", 1, 1, "x\n", b"x\n"),
        (b"\xff\n\xfe\n", 1, 1, "\u00e9\n", b"\xc3\xa9\n\xfe\n"),
        ("a\u2028b\x0cc\n".encode(), 1, 1, "x\n", b"x\n"),
        (b"a", 1, 1, "", b""),
        (b"\n", 1, 1, "x\n", b"x\n"),
    ],
)
def test_lines_are_replaced(content: bytes, start: int, end: int, replacement: str, expected: bytes) -> None:
    assert replace_lines(content, start, end, replacement) == expected


@rows(
    ("content", "start", "end"),
    [(b"a\nb\n", 0, 1), (b"a\nb\n", 2, 1), (b"a\nb\n", 1, 3), (b"a\nb", 3, 3), (b"", 1, 1), (b"", 0, 0)],
)
def test_a_range_that_is_not_in_the_file_is_refused_with_its_number_of_lines(
    content: bytes, start: int, end: int
) -> None:
    lines = content.count(b"b") * 2
    with pytest.raises(
        EditFailed, match=f"start_line {start} and end_line {end} are not lines of the file; it has {lines} lines"
    ):
        replace_lines(content, start, end, "x\n")


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(EditFailed, match="not text"):
        replace_lines(b"a\0\n", 1, 1, "x\n")


@given(
    st.lists(st.sampled_from([b"", b"a", b"bb", b"\r", b"c\r"]), min_size=1, max_size=8),
    st.booleans(),
    st.data(),
)
def test_all_lines_but_those_named_stay_as_they_are(lines: list[bytes], closed: bool, data: st.DataObject) -> None:
    content = b"\n".join(lines) + (b"\n" if closed else b"")
    split = re.findall(rb"[^\n]*\n|[^\n]+", content)
    if not split:
        return
    start = data.draw(st.integers(1, len(split)))
    end = data.draw(st.integers(start, len(split)))
    new = data.draw(st.lists(st.sampled_from(["x", "", "yy"]), max_size=3))
    after = replace_lines(content, start, end, "".join(f"{line}\n" for line in new))
    ending = b"\r\n" if split[0].endswith(b"\r\n") else b"\n"
    inserted = b"".join(line.encode() + ending for line in new)
    if end == len(split) and not split[-1].endswith(b"\n"):
        inserted = inserted.removesuffix(ending)
    assert after == b"".join(split[: start - 1]) + inserted + b"".join(split[end:])
