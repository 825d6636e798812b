"""Test the memory that the command needs for a large file in any JSON spelling."""

from __future__ import annotations

import pytest

from benchmarks.operations import MOST_TIMES, contents, create, read, size_in_json

pytestmark = pytest.mark.rule("O10")


@pytest.mark.parametrize("kind", ["ASCII", "one emoji", "no text"])
def test_a_file_that_is_made_or_read_needs_less_than_three_times_its_size(kind: str) -> None:
    content = contents()[kind]
    assert create(content) < MOST_TIMES
    assert read(content) < MOST_TIMES


def test_a_file_that_is_all_escapes_needs_less_than_three_times_what_it_has_in_json() -> None:
    content = contents()["escapes"]
    most = MOST_TIMES * size_in_json(content) / len(content)
    assert create(content) < most
    assert read(content) < most
